// Package local is a cluster of real redis-server processes on loopback. Each
// client is a process of its own, and toxiproxy's links, embedded, are the
// network between each client and each server. Time is real.
//
// Nothing outlives a run: Close ends every process and removes every file; a
// harness that is killed takes its children with it (on Linux); and what is
// left behind all the same, Clean finds by its records and removes.
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

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/link"
	"lockproof/harness/cluster/shim"
)

// Options are what a local cluster needs beside the run's Config.
type Options struct {
	// RedisServer is the server's program: a name in PATH or a path; "" means
	// redis-server.
	RedisServer string
	// Worker is the command line of a client's process, without input: it
	// serves the protocol of package client on its stdin and stdout. Empty
	// means this program with the argument "worker".
	Worker []string
}

// Cluster is a cluster.Cluster of processes on this machine.
type Cluster struct {
	cfg     cluster.Config
	server  program
	library string // the preload shim, "" where there is none: see Supports
	worker  []string
	epoch   int64 // CLOCK_MONOTONIC when the run began, in nanoseconds
	wall    int64 // the host's wall clock at that moment, as Unix nanoseconds
	folder  string
	record  *record
	nodes   map[string]*node // by name; an alias shares its server's
	links   map[path]*link.Link
	address map[path]string // where a client reaches a node

	life context.Context // ends when the cluster closes
	end  context.CancelFunc
	busy sync.WaitGroup // goroutines that live as long as the cluster

	mu      sync.Mutex
	closed  bool
	workers []*worker

	closing  sync.Once
	closeErr error
}

// path names a link: from a client to a server.
type path struct{ client, node string }

var _ cluster.Cluster = (*Cluster)(nil)

// New starts one redis-server for each distinct node and one for the store, all
// at once, with a link from every client to each, and returns when all servers
// answer. ctx bounds the start, not the cluster's life; Close ends that.
func New(ctx context.Context, cfg cluster.Config, opts Options) (*Cluster, error) {
	server, err := findServer(opts.RedisServer)
	if err != nil {
		return nil, err
	}
	worker, err := workerCommand(opts.Worker)
	if err != nil {
		return nil, err
	}
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	// What earlier harnesses left is removed in passing; that it cannot be is
	// no reason not to run. `lockproof clean` tells the reason.
	_, _ = clean()

	c := &Cluster{
		cfg: cfg, server: server, worker: worker,
		epoch: monotonic(), wall: time.Now().UnixNano(),
		nodes: map[string]*node{}, links: map[path]*link.Link{}, address: map[path]string{},
	}
	// Without a shim some faults cannot be done; Supports tells why.
	c.library, _ = shim.Build("")
	c.life, c.end = context.WithCancel(context.Background())
	if err := c.build(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.watch()
	return c, nil
}

// build makes what the cluster consists of: its folder, servers and links.
func (c *Cluster) build(ctx context.Context) error {
	if err := c.makeFolder(); err != nil {
		return err
	}
	var starting errgroup.Group
	for _, name := range append(distinct(c.cfg), cluster.StoreName) {
		n, err := c.newNode(name, c.persistence(name))
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
		c.nodes[name] = c.nodes[resolve(c.cfg, name)]
	}
	return c.connect()
}

// persistence is the setting of a server. The store forgets nothing: what it
// loses is to be the lock's fault.
func (c *Cluster) persistence(name string) cluster.Persistence {
	if name == cluster.StoreName {
		return cluster.PersistAlways
	}
	return c.cfg.Persistence
}

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
	folder := filepath.Join(dir, folderPrefix+randomName())
	if c.record, err = newRecord(folder); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("local cluster: cannot make the run's folder: %w", err)
	}
	c.folder = folder
	return nil
}

// connect opens a link from every client to every server.
func (c *Cluster) connect() error {
	scripts := link.NewScripts()
	for _, client := range c.cfg.Clients {
		for _, name := range append(distinct(c.cfg), cluster.StoreName) {
			l := link.New(link.Config{
				Client: client, Node: name, Now: c.Now, Record: c.cfg.Record,
				Scripts: scripts, Travel: travel(c.cfg.Delay), Silent: name == cluster.StoreName,
			})
			c.links[path{client, name}] = l
			addr, err := l.Listen(c.nodes[name].addr)
			if err != nil {
				return err
			}
			c.address[path{client, name}] = addr
		}
	}
	return nil
}

// travel gives every message the run's base delay. Without one the messages
// take the time that loopback takes.
func travel(delay time.Duration) func(bool, int, int) time.Duration {
	if delay <= 0 {
		return nil
	}
	return func(bool, int, int) time.Duration { return delay }
}

// checkConfig refuses what would otherwise fail later and less clearly.
func checkConfig(cfg cluster.Config) error {
	if len(cfg.Nodes) == 0 {
		return errors.New("local cluster: no nodes: name at least one")
	}
	if cfg.Record == nil {
		return errors.New("local cluster: Config.Record is nil: it must take the run's events")
	}
	names := append(slices.Clone(cfg.Nodes), cfg.Clients...)
	for i, name := range names {
		switch {
		case name == "" || name != filepath.Base(name) || name[0] == '.':
			return fmt.Errorf("local cluster: %q cannot be a name: each names a folder or file of its own", name)
		case name == cluster.StoreName:
			return fmt.Errorf("local cluster: a node or client cannot be named %q: that is the guarded store", name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("local cluster: %q is named twice: nodes and clients need names of their own", name)
		}
	}
	for alias := range cfg.Aliases {
		if to := resolve(cfg, alias); to == "" || !slices.Contains(cfg.Nodes, to) {
			return fmt.Errorf("local cluster: the alias %s does not lead to a node: there are %v", alias, cfg.Nodes)
		}
	}
	_, err := persistenceSettings(cfg.Persistence)
	return err
}

// resolve follows aliases to the node that has a server; "" if they go round in
// circles.
func resolve(cfg cluster.Config, name string) string {
	for range len(cfg.Aliases) + 1 {
		to, alias := cfg.Aliases[name]
		if !alias {
			return name
		}
		name = to
	}
	return ""
}

// distinct lists the nodes that have servers of their own.
func distinct(cfg cluster.Config) []string {
	var names []string
	for _, name := range cfg.Nodes {
		if _, alias := cfg.Aliases[name]; !alias {
			names = append(names, name)
		}
	}
	return names
}

// kind is this cluster's name.
const kind = "local"

// Kind is "local".
func (c *Cluster) Kind() string { return kind }

// Server is the servers' name and version: redis 7.0.15.
func (c *Cluster) Server() string { return c.server.String() }

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
	if l := c.links[path{client, resolve(c.cfg, node)}]; l != nil {
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
	c.mu.Lock()
	c.closed = true
	workers := c.workers
	c.mu.Unlock()
	c.end()

	var errs []error
	for _, w := range workers {
		errs = append(errs, w.Kill())
	}
	for _, l := range c.links {
		errs = append(errs, l.Close())
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
	return c.record.remove()
}
