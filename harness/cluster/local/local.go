package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/link"
	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/realtime"
	"lockproof/harness/cluster/server"
	"lockproof/harness/cluster/shim"
)

// Options are what a local cluster needs beside the run's Config.
type Options struct {
	// RedisServer is the server's program: a name in PATH or a path; "" means
	// redis-server.
	RedisServer string
	// Worker is the command line of a client's process; see process.Workers.
	Worker []string
	// Stranger: that program is not ours; see process.Workers.
	Stranger bool
}

// Cluster is a cluster.Cluster of processes on this machine.
type Cluster struct {
	cfg       cluster.Config
	server    program
	library   string // the preload shim, "" where there is none: see can
	clock     realtime.Clock
	folder    string
	record    *process.Record
	nodes     map[string]*node // by name; an alias shares its server's
	sentinels []*sentinel
	ids       map[string]string // of a Redis Cluster's members, by name
	links     map[path]*link.Link
	address   map[path]string // where a client reaches a node

	life context.Context // ends when the cluster closes
	end  context.CancelFunc
	busy sync.WaitGroup // goroutines that live as long as the cluster

	workers process.Workers

	closing  sync.Once
	closeErr error
}

// path names a link: from a client, a replica or the Sentinels to a server.
type path struct{ client, node string }

var _ cluster.Cluster = (*Cluster)(nil)

// New starts one redis-server for each distinct node and one for the store, all
// at once, with a link from every client to each, and returns when all servers
// answer. ctx bounds the start, not the cluster's life; Close ends that.
func New(ctx context.Context, cfg cluster.Config, opts Options) (*Cluster, error) {
	program, err := findServer(opts.RedisServer)
	if err != nil {
		return nil, err
	}
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("local cluster: %w", err)
	}
	if _, err := server.Settings(cfg.Persistence, cfg.Settings); err != nil {
		return nil, fmt.Errorf("local cluster: %w", err)
	}
	// What earlier harnesses left is removed in passing; that it cannot be is
	// no reason not to run. `lockproof clean` tells the reason.
	_, _ = process.Clean()

	c := &Cluster{
		cfg: cfg, server: program, clock: realtime.Start(),
		nodes: map[string]*node{}, links: map[path]*link.Link{}, address: map[path]string{},
	}
	// Without a shim some faults cannot be done; can tells why.
	c.library, _ = shim.Build("")
	c.life, c.end = context.WithCancel(context.Background())
	c.workers.Command, c.workers.Stranger = opts.Worker, opts.Stranger
	if err := c.build(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if cfg.StallLimit > 0 {
		c.busy.Go(func() { c.clock.Watch(c.life, "harness", cfg.StallLimit, cfg.Record) })
	}
	return c, nil
}

// build makes what the cluster consists of: its folder, servers and links.
func (c *Cluster) build(ctx context.Context) error {
	if err := c.makeFolder(); err != nil {
		return err
	}
	var starting errgroup.Group
	for _, name := range c.cfg.Servers() {
		n, err := c.newNode(name)
		if err != nil {
			return errors.Join(err, starting.Wait())
		}
		c.nodes[name] = n
		starting.Go(func() error { return n.startFirst(ctx) })
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	for name := range c.cfg.Aliases {
		c.nodes[name] = c.nodes[c.cfg.Resolve(name)]
	}
	if err := c.connect(); err != nil {
		return err
	}
	if c.cfg.RedisCluster {
		return c.formRedisCluster(ctx)
	}
	if err := c.watchPaths(); err != nil {
		return err
	}
	if err := c.replicate(ctx); err != nil {
		return err
	}
	return c.watch(ctx)
}

// settings are those of a server, and whether it has a supervisor. The store
// forgets nothing: what it loses is to be the lock's fault.
func (c *Cluster) settings(name string) (p cluster.Persistence, more map[string]string, supervised bool) {
	if name == cluster.StoreName {
		return cluster.PersistAlways, nil, false
	}
	return c.cfg.Persistence, c.cfg.SettingsOf(name), c.cfg.Supervised
}

// Address is where a node's server listens, past every link.
func (c *Cluster) Address(node string) string { return c.nodes[node].addr }

// makeFolder makes the run's own folder in Config.Dir, and puts it on record
// first, so that Clean finds it whenever the harness dies.
func (c *Cluster) makeFolder() error {
	dir := c.cfg.Dir
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("local cluster: the folder %s: %w", c.cfg.Dir, err)
	}
	folder := filepath.Join(dir, process.FolderPrefix+process.RandomName())
	if c.record, err = process.NewRecord(folder); err != nil {
		return fmt.Errorf("local cluster: %w", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("local cluster: cannot make the run's folder: %w", err)
	}
	c.folder = folder
	c.workers.Folder, c.workers.Record = folder, c.record
	return nil
}

// connect opens a link from every client to every server.
func (c *Cluster) connect() error {
	scripts := link.NewScripts()
	for _, client := range c.cfg.Clients {
		for _, name := range c.cfg.Servers() {
			err := c.open(link.Config{Client: client, Node: name, Scripts: scripts}, c.nodes[name].addr)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// open opens a link to the server at an address.
func (c *Cluster) open(cfg link.Config, upstream string) error {
	cfg.Now, cfg.Epoch, cfg.Record, cfg.Travel = c.Now, c.clock.Began(), c.cfg.Record, travel(c.cfg.Delay)
	l := link.New(cfg)
	p := path{cfg.Client, cfg.Node}
	c.links[p] = l
	addr, err := l.Listen(upstream)
	c.address[p] = addr
	return err
}

// travel gives every message the run's base delay. Without one the messages
// take the time that loopback takes.
func travel(delay time.Duration) func(bool, int, int) time.Duration {
	if delay <= 0 {
		return nil
	}
	return func(bool, int, int) time.Duration { return delay }
}

// Kind is "local".
func (c *Cluster) Kind() string { return Name }

// Server is the servers' name and version: redis 7.0.15.
func (c *Cluster) Server() string { return c.server.String() }

// Now is the true clock: nanoseconds since the run began.
func (c *Cluster) Now() int64 { return c.clock.Now() }

// Sleep waits on the true clock, or until ctx ends.
func (c *Cluster) Sleep(ctx context.Context, d time.Duration) error { return c.clock.Sleep(ctx, d) }

// Node returns the node of that name, or the store; nil if there is none.
func (c *Cluster) Node(name string) cluster.Node {
	if n := c.nodes[name]; n != nil {
		return n
	}
	return nil
}

// Link returns the path from a client to a node or to the store; nil if there
// is none. An alias has its server's link: a client sees one address for both.
func (c *Cluster) Link(client, node string) cluster.Link {
	if l := c.links[path{client, c.cfg.Resolve(node)}]; l != nil {
		return l
	}
	return nil
}

// Close ends every process, heals every link and removes every file. It may be
// called at any time and any number of times.
func (c *Cluster) Close() error {
	c.closing.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Cluster) close() error {
	c.end()
	errs := []error{c.workers.Close()}
	for _, l := range c.links {
		errs = append(errs, l.Close())
	}
	for _, s := range c.sentinels {
		errs = append(errs, s.close())
	}
	for name, n := range c.nodes {
		if name == n.name {
			errs = append(errs, n.close())
		}
	}
	c.busy.Wait()
	if c.folder != "" {
		errs = append(errs, os.RemoveAll(c.folder))
	}
	if err := errors.Join(errs...); err != nil || c.record == nil {
		return err // what could not be ended stays on record for Clean
	}
	return c.record.Remove()
}

// Spawn starts a client's process and hands it its setup. The setup's Nodes may
// be names of nodes, in the order in which the client is to have them; none
// means all.
func (c *Cluster) Spawn(ctx context.Context, setup client.Setup, messages func(client.Message)) (client.Worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	setup, err := c.complete(setup)
	if err != nil {
		return nil, err
	}
	w, err := c.workers.Spawn(setup, messages)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// complete fills in what the cluster knows.
func (c *Cluster) complete(setup client.Setup) (client.Setup, error) {
	if !slices.Contains(c.cfg.Clients, setup.Name) {
		return setup, fmt.Errorf("spawn %s: there is no such client: there are %v", setup.Name, c.cfg.Clients)
	}
	names := setup.Nodes
	if len(names) == 0 {
		names = c.cfg.Nodes
	}
	setup.Nodes = nil
	for _, name := range names {
		addr, ok := c.address[path{setup.Name, c.cfg.Resolve(name)}]
		if !ok {
			return setup, fmt.Errorf("spawn %s: there is no node %s: there are %v", setup.Name, name, c.cfg.Nodes)
		}
		setup.Nodes = append(setup.Nodes, addr)
	}
	if err := c.routes(&setup); err != nil {
		return setup, err
	}
	c.routesToMembers(&setup)
	setup.Store, setup.Password = c.address[path{setup.Name, cluster.StoreName}], server.Password()
	setup.Seed, setup.Epoch, setup.StallLimit = c.cfg.Seed, c.clock.Epoch(), c.cfg.StallLimit
	return setup, nil
}
