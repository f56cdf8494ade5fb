package realcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// Cluster is what a cluster of real servers has, of whatever kind. That kind makes the servers
// and ends them; it calls New and Build, in this order.
type Cluster struct {
	cfg     cluster.Config
	kind    string
	Version string // of the servers, with their name

	// Life ends when the cluster closes, by End.
	Life context.Context
	End  context.CancelFunc
	busy sync.WaitGroup // goroutines that live as long as the cluster
	realtime.Clock
	Workers process.Workers

	Nodes     map[string]*Node        // by name; an alias shares its server's
	Sentinels map[string]string       // their addresses, by name
	Paths     map[history.Link]string // where each link waits for its client
	network   Network                 // nil before connect
	ids       map[string]string       // of a Redis Cluster's members, by name
	closing   func() error
}

// New begins a cluster of a kind.
func New(cfg cluster.Config, kind string, choice cluster.Choice) (*Cluster, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("%s cluster: %w", kind, err)
	}
	c := &Cluster{cfg: cfg, kind: kind, Clock: realtime.Start(), Nodes: map[string]*Node{},
		Sentinels: map[string]string{},
		Paths:     map[history.Link]string{}}
	c.Workers.Command, c.Workers.External = choice.Worker, choice.External
	c.Life, c.End = context.WithCancel(context.Background())
	return c, nil
}

// Settings are the lines of redis.conf of a server, which listens to the other members of a Redis
// Cluster on a port. The store forgets nothing: what it loses is to be the lock's fault.
func (c *Cluster) Settings(name string, bus int) string {
	if name == history.StoreName {
		return settings(cluster.PersistAlways, nil)
	}
	lines := settings(c.cfg.Persistence, c.cfg.SettingsOf(name))
	if c.cfg.RedisCluster {
		lines += memberSettings(bus)
	}
	return lines
}

// Add adds a server, under all of its names.
func (c *Cluster) Add(name string, host Host) *Node {
	n := &Node{Host: host, cluster: c, name: name, supervised: c.cfg.Supervised && name != history.StoreName}
	n.As, c.Nodes[name] = n, n
	for alias := range c.cfg.Aliases {
		if c.cfg.Resolve(alias) == name {
			c.Nodes[alias] = n
		}
	}
	return n
}

// Build has the servers started, each of which is added, and the links opened between them; then the servers become
// what the run needs. end ends all that: if one of these fails, or by Close.
func (c *Cluster) Build(ctx context.Context, start func(context.Context) error, open Opener, end func() error) error {
	c.closing = sync.OnceValue(end)
	err := start(ctx)
	if err == nil {
		err = c.connect(ctx, open)
	}
	if err == nil {
		err = c.form(ctx)
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

// Close ends every process and every link. It may be called at any time and any number of times.
func (c *Cluster) Close() error { return c.closing() }

// Opener opens the links of a run, and says on which port of which host each waits for its client.
type Opener func(context.Context, network.Run) (opened Network, host string, listening []network.Listening, err error)

// connect opens the links. The run begins here: to make the servers can take seconds, which are none of the run's.
func (c *Cluster) connect(ctx context.Context, open Opener) error {
	c.Clock = realtime.Start()
	want := network.Run{Epoch: c.Epoch(), Delay: c.cfg.Delay, Servers: maps.Clone(c.Sentinels),
		Members: map[string]int{}}
	want.Links, want.Streams = c.cfg.Links()
	for _, name := range c.cfg.Servers() {
		address, err := c.Nodes[name].Where(ctx)
		if err != nil {
			return err
		}
		want.Servers[name] = address
		if c.cfg.RedisCluster && name != history.StoreName {
			want.Members[name] = 0
		}
	}
	opened, host, listening, err := open(ctx, want)
	if err != nil {
		return fmt.Errorf("%s cluster: %w", c.kind, err)
	}
	c.network, c.Workers.Settle = opened, opened.Settle
	for _, l := range listening {
		c.Paths[l.Link] = net.JoinHostPort(host, strconv.Itoa(l.Port))
	}
	if c.cfg.StallLimit > 0 {
		c.busy.Go(func() { c.Watch(c.Life, "harness", c.cfg.StallLimit, c.cfg.Record) })
	}
	return nil
}

// move says where a server is, "" for one that is down.
func (c *Cluster) move(ctx context.Context, name, address string) error {
	if c.network == nil {
		return nil // there are no links yet
	}
	return c.network.Move(ctx, name, address)
}

// bounded gives a context that ends with ctx, with the cluster, and at the
// latest when Timeout is over.
func (c *Cluster) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	stop := context.AfterFunc(c.Life, cancel)
	return ctx, func() { stop(); cancel() }
}

func (c *Cluster) Kind() string { return c.kind }

// Server is the servers' name and version: redis 7.0.15.
func (c *Cluster) Server() string { return c.Version }

func (c *Cluster) Node(name string) cluster.Node {
	if n := c.Nodes[name]; n != nil {
		return n.As
	}
	return nil
}

// Address is where a client, or a replica, reaches a server over its link; "" if it has none.
// An alias has its server's link: a client sees one address for both.
func (c *Cluster) Address(client, server string) string {
	return c.Paths[history.Link{From: client, To: c.cfg.Resolve(server)}]
}

func (c *Cluster) Link(client, node string) cluster.Link {
	if c.Address(client, node) == "" {
		return nil
	}
	return c.network.Link(history.Link{From: client, To: c.cfg.Resolve(node)})
}

// Quiesce returns once nothing is under way any more of what the cluster does by itself or was
// told to, after End.
func (c *Cluster) Quiesce() {
	for _, n := range c.Nodes {
		n.op.Lock()
		//lint:ignore SA2001 whoever comes later sees that the life is over
		n.op.Unlock()
	}
	c.busy.Wait()
}

// Go runs something that lives as long as the cluster.
func (c *Cluster) Go(f func()) { c.busy.Go(f) }

// Spawn starts a client's process and hands it its setup. The setup's Nodes may
// be names of nodes, in the order in which the client is to have them; none
// means all.
func (c *Cluster) Spawn(ctx context.Context, setup client.Setup, messages func(client.Message)) (client.Worker, error) {
	err := ctx.Err()
	if err == nil {
		err = c.complete(&setup)
	}
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	w, err := c.Workers.Spawn(setup, messages)
	if err != nil {
		return nil, err // and not a nil of another type
	}
	return w, nil
}

// complete fills in what the cluster knows.
func (c *Cluster) complete(setup *client.Setup) error {
	err := setup.Complete(c.cfg, func(server string) string { return c.Address(setup.Name, server) })
	if err != nil {
		return err
	}
	setup.Password, setup.Epoch = Password(), c.Epoch()
	return c.routes(setup)
}
