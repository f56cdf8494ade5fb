package virtual

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// epoch is the date of reading 0 of a node's wall clock: the beginning of every bubble.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Cluster is a cluster.Cluster in virtual time.
type Cluster struct {
	cfg       cluster.Config
	release   release
	began     time.Time
	scheduler *scheduler.Scheduler
	nodes     map[string]*Node // by name; an alias shares its server's
	paths     map[history.Link]*path

	mu      sync.Mutex
	closed  bool // it refuses new workers, and its links record no more events
	workers []*client.Client

	closing func() error // close, once
}

// path is a link and its server.
type path struct {
	*link.Link
	node   *Node
	order  int // rank among all paths with events at one instant
	travel *travel
}

var _ client.Host = (*Cluster)(nil)

// New starts a node of the default release for each distinct name and one for the store, with a link
// from every client to each. It must be called inside a bubble, which ends only after Close.
func New(cfg cluster.Config) (*Cluster, error) { return newCluster(cfg, releases[0]) }

func newCluster(cfg cluster.Config, r release) (*Cluster, error) {
	if cfg.Persistence == "" {
		cfg.Persistence = cluster.PersistNone
	}
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("virtual cluster: %w", err)
	}
	leastReplicas, maxLag, err := replicaLimits(cfg)
	if err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, release: r, began: time.Now(), scheduler: scheduler.New(), nodes: map[string]*Node{},
		paths: map[history.Link]*path{}}
	c.closing = sync.OnceValue(c.close)
	add := func(name string, keeps cluster.Persistence) {
		c.nodes[name] = newNode(name, cfg.Seed, r, keeps, c.Now, c.scheduler, len(c.nodes))
	}
	for _, name := range cfg.Nodes {
		if _, alias := cfg.Aliases[name]; !alias {
			add(name, cfg.Persistence)
		}
	}
	for alias := range cfg.Aliases {
		c.nodes[alias] = c.nodes[cfg.Resolve(alias)]
	}
	// The store never forgets: a lost update must be the lock's fault.
	add(history.StoreName, cluster.PersistAlways)
	replicas := slices.Sorted(maps.Keys(cfg.Replicas))
	for _, name := range replicas {
		add(name, cfg.Persistence)
	}
	c.connect()
	c.replicate(replicas, leastReplicas, maxLag)
	return c, nil
}

// connect makes the links. Their order is random, so that no client is always first.
func (c *Cluster) connect() {
	commands, streams := c.cfg.Links()
	orders := rand.New(rand.NewPCG(mix(c.cfg.Seed, "slots"), 0)).Perm(len(commands) + len(streams))
	scripts := script.New()
	for i, name := range slices.Concat(commands, streams) {
		t := newTravel(mix(c.cfg.Seed, name.From, name.To), c.cfg.Delay, c.cfg.Grid)
		l := link.New(link.Config{Client: name.From, Node: name.To, Now: c.Now, Epoch: epoch, Record: c.record,
			Travel: t.message, Scripts: scripts, Direct: c.scheduler, Order: orders[i], Opaque: i >= len(commands)})
		c.paths[name] = &path{Link: l, node: c.nodes[name.To], order: orders[i], travel: t}
	}
}

// record passes on the links' events until the cluster closes: later messages are not part of the run.
func (c *Cluster) record(e history.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.cfg.Record(e)
	}
}

func (c *Cluster) Kind() string { return cluster.Virtual }

// Server names the nodes' product, and the release whose commands they know.
func (c *Cluster) Server() string { return c.release.server() }

// Now is the virtual time since New, in nanoseconds.
func (c *Cluster) Now() int64 { return int64(time.Since(c.began)) }

// Sleep waits in virtual time, or until ctx ends. With a duration of 0 it waits until every event of this instant has
// happened.
func (c *Cluster) Sleep(ctx context.Context, d time.Duration) error {
	class := scheduler.Script
	if d <= 0 {
		class = scheduler.Rest
	}
	return c.scheduler.Sleep(ctx, scheduler.Key{Class: class}, d)
}

func (c *Cluster) Node(name string) cluster.Node {
	if n := c.nodes[name]; n != nil {
		return n
	}
	return nil
}

// Link returns the path from a client to a node or to the store; nil if there
// is none. An alias has its server's link.
func (c *Cluster) Link(client, node string) cluster.Link {
	if p := c.paths[history.Link{From: client, To: c.cfg.Resolve(node)}]; p != nil {
		return p
	}
	return nil
}

// lastTimer is the virtual time that passes in Close, so that goroutines of libraries wake up once more and end:
// go-redis checks every second for a closed pool; a lock may sleep for a TTL. It needs no real time.
const lastTimer = time.Hour

// Close heals every fault and ends every client, link and node; after it the
// bubble can end. It may be called at any time and any number of times.
func (c *Cluster) Close() error { return c.closing() }

func (c *Cluster) close() error {
	c.mu.Lock()
	c.closed = true
	workers := c.workers
	c.mu.Unlock()

	var errs []error
	for _, w := range workers {
		errs = append(errs, w.Kill())
	}
	for _, p := range c.paths {
		errs = append(errs, p.Close())
	}
	for name, n := range c.nodes {
		if name == n.name {
			n.end()
		}
	}
	for _, w := range workers {
		_ = w.Close() // it was killed, so its error is expected
	}
	time.Sleep(lastTimer)
	c.scheduler.End()
	return errors.Join(errs...)
}
