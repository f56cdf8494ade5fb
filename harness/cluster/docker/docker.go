package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/realtime"
	"lockproof/harness/cluster/server"
)

// Options are what a docker cluster needs beside the run's Config.
type Options struct {
	Projects *Projects // where it gets its containers from
	// Worker is the command line of a client's process; see process.Workers.
	Worker []string
	// Stranger: that program is not ours; see process.Workers.
	Stranger bool
}

// Cluster is a cluster.Cluster of containers.
type Cluster struct {
	cfg      cluster.Config
	projects *Projects
	project  *project
	clock    realtime.Clock
	workers  *process.Workers
	folder   string
	nodes    map[string]*node
	address  map[proxy.Path]string // where a client, or a replica, reaches a server
	ids      map[string]string     // of the members of a Redis Cluster, by name

	life context.Context // ends when the cluster closes
	end  context.CancelFunc
	busy sync.WaitGroup // goroutines that live as long as the cluster

	events   events
	followed chan error // gets how the stream of events ended; nil before there is one

	closing  sync.Once
	closeErr error
}

var _ cluster.Cluster = (*Cluster)(nil)

// New makes a cluster of a project that is idle, or of a new one, and returns
// when all servers answer and remember nothing. ctx bounds the start, not the
// cluster's life; Close ends that.
func New(ctx context.Context, cfg cluster.Config, opts Options) (*Cluster, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("docker cluster: %w", err)
	}
	nodes := slices.DeleteFunc(cfg.Servers(), func(name string) bool { return name == cluster.StoreName })
	if err := Fits(nodes, cfg.Sentinels); err != nil {
		return nil, err
	}
	if _, err := server.Settings(cfg.Persistence, cfg.Settings); err != nil {
		return nil, fmt.Errorf("docker cluster: %w", err)
	}
	p, err := opts.Projects.take(ctx, links(cfg))
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: cfg, projects: opts.Projects, project: p,
		nodes: map[string]*node{}, address: map[proxy.Path]string{},
	}
	c.events.record = cfg.Record
	c.life, c.end = context.WithCancel(context.Background())
	if err := c.build(ctx, opts); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if cfg.StallLimit > 0 {
		c.busy.Go(func() { c.clock.Watch(c.life, "harness", cfg.StallLimit, cfg.Record) })
	}
	return c, nil
}

// build makes the servers as new, and opens the links.
func (c *Cluster) build(ctx context.Context, opts Options) error {
	dir, err := os.MkdirTemp(c.projects.folder, "run-")
	if err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	c.folder = dir
	c.workers = &process.Workers{Command: opts.Worker, Stranger: opts.Stranger, Folder: dir, Record: c.projects.record}
	// No more than these at a time: starts keep the engine busy, and other runs
	// have their own under way.
	var renewing errgroup.Group
	renewing.SetLimit(2)
	for _, name := range c.cfg.Servers() {
		n := &node{cluster: c, nodeContainer: c.project.boxes[name]}
		n.Reach = n.reach
		c.nodes[name] = n
		renewing.Go(func() error { return n.renew(ctx) })
	}
	if err := renewing.Wait(); err != nil {
		return err
	}
	for name := range c.cfg.Aliases {
		c.nodes[name] = c.nodes[c.cfg.Resolve(name)]
	}
	if c.cfg.Sentinels > 0 {
		if err := c.project.bringSentinels(ctx); err != nil {
			return fmt.Errorf("docker cluster: %w", err)
		}
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	if c.cfg.RedisCluster {
		return c.formRedisCluster(ctx)
	}
	if err := c.replicate(ctx); err != nil {
		return err
	}
	return c.watch(ctx)
}

// links is how many links a run takes.
func links(cfg cluster.Config) int {
	links := len(cfg.Clients)*(len(cfg.Servers())+cfg.Sentinels) + len(cfg.Replicas) + len(cfg.Watched())
	if cfg.RedisCluster {
		links += proxy.PortsOfAMember * (len(cfg.Servers()) - 1)
	}
	return links
}

// machine is what a server starts on, and whether it has a supervisor. The store
// forgets nothing: what it loses is to be the lock's fault.
func (c *Cluster) machine(name string) (m proxy.Machine, supervised bool, err error) {
	m.Server = name
	if name == cluster.StoreName {
		m.Settings, err = server.Settings(cluster.PersistAlways, nil)
		return m, false, err
	}
	m.Settings, err = server.Settings(c.cfg.Persistence, c.cfg.SettingsOf(name))
	if c.cfg.RedisCluster {
		m.Settings += server.MemberSettings(proxy.BusPort)
	}
	m.Small = slices.ContainsFunc(c.cfg.Fillable, func(f string) bool { return c.cfg.Resolve(f) == name })
	return m, c.cfg.Supervised, err
}

// connect opens a link from every client to every server, and from every replica
// to its master, and follows what passes over them.
func (c *Cluster) connect(ctx context.Context) error {
	c.clock = realtime.Start() // making servers as new can take seconds, which are none of the run's
	want := proxy.Run{Epoch: c.clock.Epoch(), Delay: c.cfg.Delay, Clients: c.cfg.Clients, Servers: map[string]string{},
		Replicas: c.cfg.Replicas, StallLimit: c.cfg.StallLimit}
	for _, name := range c.cfg.Servers() {
		want.Servers[name] = c.nodes[name].inside
	}
	if c.cfg.RedisCluster {
		want.Members = slices.DeleteFunc(c.cfg.Servers(), func(name string) bool { return name == cluster.StoreName })
	}
	want.Watched, want.Sentinels = c.cfg.Watched(), map[string]string{}
	for _, name := range c.cfg.SentinelNames() {
		want.Sentinels[name] = c.project.boxes[name].inside
	}
	ports, err := c.project.proxy.Begin(ctx, want)
	if err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	for path, port := range ports {
		if !slices.Contains(c.cfg.Clients, path.Client) { // it is in a container itself
			c.address[path] = net.JoinHostPort(c.project.inside, strconv.Itoa(port))
			continue
		}
		c.address[path] = c.project.at(port)
	}
	follow, err := c.project.proxy.Follow(c.life, c.events.add)
	if err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	c.followed = make(chan error, 1)
	go func() { c.followed <- follow() }()
	return nil
}

// Fits says whether the compose project has all these nodes, and so many
// Sentinels.
func Fits(nodes []string, sentinels int) error {
	if sentinels > mostSentinels {
		return &cluster.Unsupported{Cluster: Name, Fault: fmt.Sprintf("a run with %d Sentinels", sentinels),
			Why: fmt.Sprintf("it has %d", mostSentinels), How: "take fewer, or use another cluster"}
	}
	for _, name := range nodes {
		if !slices.Contains(services, name) || name == cluster.StoreName {
			return &cluster.Unsupported{Cluster: Name, Fault: "a run on " + name,
				Why: "its nodes are n1 to n5, and its replica is r1", How: "name the nodes so, or use another cluster"}
		}
	}
	return nil
}

// Kind is "docker".
func (c *Cluster) Kind() string { return Name }

// Server is the servers' name and version: redis 7.0.15.
func (c *Cluster) Server() string { return c.project.version }

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
	path := proxy.Path{Client: client, Server: c.cfg.Resolve(node)}
	if _, ok := c.address[path]; !ok {
		return nil
	}
	return c.project.proxy.Link(path)
}

// Spawn starts a client's process and hands it its setup. The setup's Nodes may
// be names of nodes, in the order in which the client is to have them; none
// means all.
func (c *Cluster) Spawn(ctx context.Context, setup client.Setup, messages func(client.Message)) (client.Worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	if !slices.Contains(c.cfg.Clients, setup.Name) {
		return nil, fmt.Errorf("spawn %s: there is no such client: there are %v", setup.Name, c.cfg.Clients)
	}
	names := setup.Nodes
	if len(names) == 0 {
		names = c.cfg.Nodes
	}
	setup.Nodes = nil
	for _, name := range names {
		addr, ok := c.address[proxy.Path{Client: setup.Name, Server: c.cfg.Resolve(name)}]
		if !ok {
			return nil, fmt.Errorf("spawn %s: there is no node %s: there are %v", setup.Name, name, c.cfg.Nodes)
		}
		setup.Nodes = append(setup.Nodes, addr)
	}
	if err := c.routes(&setup); err != nil {
		return nil, err
	}
	c.routesToMembers(&setup)
	setup.Store = c.address[proxy.Path{Client: setup.Name, Server: cluster.StoreName}]
	setup.Password = server.Password()
	setup.Seed, setup.Epoch, setup.StallLimit = c.cfg.Seed, c.clock.Epoch(), c.cfg.StallLimit
	w, err := c.workers.Spawn(setup, messages)
	if err != nil {
		return nil, err
	}
	return &worker{w, c}, nil
}

// worker is a client whose end waits for the last events of its links.
type worker struct {
	*process.Worker
	cluster *Cluster
}

// Close ends the client in good order. What passed over its links has been
// recorded by then.
func (w *worker) Close() error {
	return errors.Join(w.Worker.Close(), w.cluster.settle())
}

// settle waits until the events that there have been so far have been recorded.
func (c *Cluster) settle() error {
	ctx, cancel := context.WithTimeout(c.life, containerTimeout)
	defer cancel()
	n, err := c.project.proxy.Settled(ctx)
	if err != nil {
		return err
	}
	return c.events.await(ctx, n)
}

// Close ends the clients and the links, and gives the project back for the next
// run. It may be called at any time and any number of times.
func (c *Cluster) Close() error {
	c.closing.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Cluster) close() error {
	var errs []error
	if c.workers != nil {
		errs = append(errs, c.workers.Close())
	}
	// Before the links go: their ports will lead the next run to other servers.
	errs = append(errs, c.unwatch(), c.project.proxy.End(context.Background()))
	if c.followed != nil {
		select {
		case err := <-c.followed: // the last of the run's events are here
			errs = append(errs, err)
		case <-time.After(containerTimeout):
			errs = append(errs, fmt.Errorf("docker cluster: the proxy's stream of events has not ended for %s", containerTimeout))
		}
	}
	c.end()
	c.busy.Wait()
	errs = append(errs, c.project.proxy.Failed())
	if c.folder != "" {
		errs = append(errs, os.RemoveAll(c.folder))
	}
	err := errors.Join(errs...)
	// A project that something is wrong with is not used again.
	return errors.Join(err, c.projects.release(c.project, err == nil))
}
