package realcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// Cluster is the common part of all clusters of real servers. A kind of cluster starts and ends the servers; it calls
// New and then Build.
type Cluster struct {
	cfg     cluster.Config
	kind    string
	Version string // of the servers, with their name

	// end ends life when the cluster closes.
	life context.Context
	end  context.CancelFunc
	busy sync.WaitGroup // goroutines that live as long as the cluster
	realtime.Clock
	Workers process.Workers

	Nodes     map[string]*Node  // by name; an alias shares its server's
	Sentinels map[string]string // addresses, by name
	links     *network          // nil before connect
	ids       map[string]string // IDs of a Redis Cluster's members, by name
	closing   func() error
}

// New creates a cluster of a kind, without servers.
func New(cfg cluster.Config, kind string, choice cluster.Choice) (*Cluster, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("%s cluster: %w", kind, err)
	}
	c := &Cluster{cfg: cfg, kind: kind, Clock: realtime.Start(), Nodes: map[string]*Node{},
		Sentinels: map[string]string{}}
	c.Workers.Command, c.Workers.External = choice.Worker, choice.External
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Settings are a server's lines of redis.conf; bus is its port of a Redis Cluster's bus. The store syncs each write, so
// that lost writes are the lock's fault. A master writes a replica's copy to a file: by default it streams the copy,
// after five seconds of waiting for more replicas.
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

// Add adds a server with its machine and its port of a Redis Cluster's bus, under its name and its aliases.
func (c *Cluster) Add(name string, host Host, machine *Machine, bus int) *Node {
	n := &Node{Host: host, Machine: machine, bus: bus, cluster: c, name: name,
		supervised: c.cfg.Supervised && name != history.StoreName}
	n.As, c.Nodes[name] = n, n
	for alias := range c.cfg.Aliases {
		if c.cfg.Resolve(alias) == name {
			c.Nodes[alias] = n
		}
	}
	return n
}

// Build starts the added servers, opens the links and sets up replication, Sentinels or a Redis Cluster. Close calls
// end, as does a failed Build.
func (c *Cluster) Build(ctx context.Context, start func(context.Context) error, listen Listen,
	end func() error) error {
	c.closing = sync.OnceValue(end)
	err := start(ctx)
	if err == nil {
		err = c.connect(ctx, listen)
	}
	if err == nil {
		err = c.form(ctx)
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

// Close ends every process and every link. It may be called at any time, repeatedly.
func (c *Cluster) Close() error { return c.closing() }

// connect opens the links. The run begins here, because starting the servers can take seconds.
func (c *Cluster) connect(ctx context.Context, listen Listen) (err error) {
	c.Clock = realtime.Start()
	servers, members := maps.Clone(c.Sentinels), map[string]int{}
	for _, name := range c.cfg.Servers() {
		n := c.Nodes[name]
		if servers[name], err = n.Where(ctx); err != nil {
			return err
		}
		if c.cfg.RedisCluster && name != history.StoreName {
			members[name] = n.bus
		}
	}
	if c.links, err = openNetwork(c.cfg, c.Clock, servers, members, listen); err != nil {
		return fmt.Errorf("%s cluster: %w", c.kind, err)
	}
	if c.cfg.StallLimit > 0 {
		c.busy.Go(func() { c.Watch(c.life, "harness", c.cfg.StallLimit, c.cfg.Record) })
	}
	return nil
}

// form makes the servers one Redis Cluster, or makes replicas follow their masters and Sentinels watch them, over their
// own links. Until now all servers ran as masters, because the addresses were not final.
func (c *Cluster) form(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if c.cfg.RedisCluster {
		return c.formRedisCluster(ctx)
	}
	if err := c.replicate(ctx); err != nil {
		return err
	}
	return c.watch(ctx)
}

// Move sets a server's address for the links; "" means that it is down and refuses connections.
func (c *Cluster) Move(name, address string) {
	if c.links != nil {
		c.links.servers[name].move(address)
	}
}

// bounded returns a context that ends with ctx, with the cluster or after Timeout.
func (c *Cluster) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	stop := context.AfterFunc(c.life, cancel)
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

// Address is the address of a client's or a replica's link to a server; "" without a link. An alias shares its
// server's link, so a client sees one address for both.
func (c *Cluster) Address(client, server string) string {
	return c.Paths()[history.Link{From: client, To: c.cfg.Resolve(server)}]
}

// Paths are the addresses of all links, each for its client; none before Build.
func (c *Cluster) Paths() map[history.Link]string {
	if c.links == nil {
		return nil
	}
	return c.links.addresses
}

func (c *Cluster) Link(client, node string) cluster.Link {
	if c.links != nil {
		if l := c.links.links[history.Link{From: client, To: c.cfg.Resolve(node)}]; l != nil {
			return l
		}
	}
	return nil
}

// Quiesce ends the cluster's life, its clients and its links, and waits for running faults and goroutines.
func (c *Cluster) Quiesce() error {
	c.end()
	err := c.Workers.Close()
	if c.links != nil {
		c.links.close()
	}
	for _, n := range c.Nodes {
		n.op.Lock()
		//lint:ignore SA2001 a later operation sees the end of Life
		n.op.Unlock()
	}
	c.busy.Wait()
	return err
}

// Spawn starts a client's process and sends it its setup. The setup's Nodes are names of nodes in the client's order;
// empty means all.
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
		return nil, err // not w: a nil *process.Worker is a non-nil interface
	}
	return w, nil
}

// complete fills in addresses, password and epoch.
func (c *Cluster) complete(setup *client.Setup) error {
	err := setup.Complete(c.cfg, func(server string) string { return c.Address(setup.Name, server) })
	if err != nil {
		return err
	}
	setup.Password, setup.Epoch = Password(), c.Epoch()
	return c.routes(setup)
}

// routes fills in the addresses of the client's Sentinels, and maps the addresses announced by Sentinels or a Redis
// Cluster to the client's own links.
func (c *Cluster) routes(setup *client.Setup) error {
	wanted := setup.Sentinels
	setup.Sentinels = nil
	if len(wanted) > 0 || setup.ClusterClients > 0 {
		setup.Routes = map[string]string{}
	}
	for _, name := range wanted {
		address := c.Address(setup.Name, name)
		if address == "" {
			return fmt.Errorf("there is no Sentinel %s: there are %v", name, c.cfg.SentinelNames())
		}
		setup.Sentinels = append(setup.Sentinels, address)
		setup.Routes[c.Sentinels[name]] = address
	}
	if len(wanted) > 0 {
		for _, name := range c.cfg.Watched() {
			setup.Routes[c.Address(cluster.SentinelsName, name)] = c.Address(setup.Name, name)
		}
	}
	if setup.ClusterClients > 0 {
		for _, m := range c.members() {
			setup.Routes[m.Announced] = c.Address(setup.Name, m.Name)
		}
	}
	return nil
}
