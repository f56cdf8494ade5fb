package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/docker/proxy"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/history"
)

var _ client.Host = (*Cluster)(nil)

// Cluster is a cluster.Cluster of containers.
type Cluster struct {
	*realcluster.Cluster
	cfg      cluster.Config
	projects *Projects
	project  *project
	network  *remoteNetwork // nil before there is one
}

var _ cluster.Real = (*Cluster)(nil)

// New makes a cluster of a project that is idle, or of a new one, and returns
// when all servers answer and remember nothing. ctx bounds the start, not the
// cluster's life; Close ends that.
func New(ctx context.Context, cfg cluster.Config, projects *Projects) (*Cluster, error) {
	base, err := realcluster.New(cfg, cluster.Docker, projects.choice)
	if err != nil {
		return nil, err
	}
	nodes := slices.DeleteFunc(cfg.Servers(), func(name string) bool { return name == history.StoreName })
	if err := Fits(nodes, cfg.Sentinels); err != nil {
		return nil, err
	}
	p, err := projects.take(ctx)
	if err != nil {
		return nil, err
	}
	base.Version, base.Workers.Record = p.version, projects.record
	c := &Cluster{Cluster: base, cfg: cfg, projects: projects, project: p}
	if err := c.Build(ctx, c.start, c.open, c.end); err != nil {
		return nil, err
	}
	return c, nil
}

// start makes the servers as new.
func (c *Cluster) start(ctx context.Context) error {
	// No more than these at a time: starts keep the engine busy, and other runs
	// have their own under way.
	var renewing errgroup.Group
	renewing.SetLimit(2)
	for _, name := range c.cfg.Servers() {
		box := c.project.boxes[name]
		n := &node{Node: c.Add(name, box), box: box, cluster: c}
		n.As = n
		renewing.Go(func() error { return n.renew(ctx) })
	}
	if err := renewing.Wait(); err != nil {
		return err
	}
	for _, name := range c.cfg.SentinelNames() {
		var err error
		if c.Sentinels[name], err = c.project.boxes[name].Where(ctx); err != nil {
			return fmt.Errorf("docker cluster: %w", err)
		}
	}
	return nil
}

// open opens the links in the proxy, and follows what passes over them.
func (c *Cluster) open(ctx context.Context, want network.Run) (_ realcluster.Network, host string,
	listening []network.Listening, err error) {
	want.StallLimit = c.cfg.StallLimit
	for name := range want.Members {
		want.Members[name] = busPort
	}
	if listening, err = proxy.Begin.Send(ctx, c.project.proxy, want); err != nil {
		return nil, "", nil, err
	}
	c.network = &remoteNetwork{Client: c.project.proxy, record: c.cfg.Record}
	c.Go(func() { c.network.follow(c.Life) })
	return c.network, c.project.address, listening, nil
}

// Fits says whether the compose project has all these nodes, and so many
// Sentinels.
func Fits(nodes []string, wanted int) error {
	if most := len(sentinels); wanted > most {
		return &cluster.Unsupported{Cluster: cluster.Docker, Fault: fmt.Sprintf("a run with %d Sentinels", wanted),
			Why: fmt.Sprintf("it has %d", most), How: "take fewer, or use another cluster"}
	}
	for _, name := range nodes {
		if !slices.Contains(services, name) || name == history.StoreName {
			return &cluster.Unsupported{Cluster: cluster.Docker, Fault: "a run on " + name,
				Why: "its nodes are n1 to n5, and its replica is r1", How: "name the nodes so, or use another cluster"}
		}
	}
	return nil
}

// end ends the clients and the links, and gives the project back for the next run.
func (c *Cluster) end() error {
	// The Sentinels before the links go: their ports will lead the next run to other servers.
	errs := []error{c.Workers.Close(), c.Unwatch()}
	_, err := proxy.End.Send(context.Background(), c.project.proxy, struct{}{})
	errs = append(errs, err)
	c.End()
	c.Quiesce()
	if c.network != nil {
		errs = append(errs, c.network.Settle()) // the last of the run's events
	}
	errs = append(errs, c.project.proxy.Failed())
	err = errors.Join(errs...)
	// A project that something is wrong with is not used again.
	return errors.Join(err, c.projects.release(c.project, err == nil))
}

// remoteNetwork is the links in the proxy's container.
type remoteNetwork struct {
	*proxy.Client
	record func(history.Event)

	mu   sync.Mutex
	seen int   // how many events have been recorded
	err  error // why no more are
}

// followEvery is how often the proxy is asked for what has passed.
const followEvery = 50 * time.Millisecond

// follow records what passes, until ctx ends.
func (n *remoteNetwork) follow(ctx context.Context) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for n.Settle() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Settle records what has passed so far. A failure stays.
func (n *remoteNetwork) Settle() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.err == nil {
		var events []history.Event
		if events, n.err = proxy.Events.Send(context.Background(), n.Client, n.seen); len(events) == 0 {
			break
		}
		for _, e := range events {
			n.record(e)
		}
		n.seen += len(events)
	}
	return n.err
}
