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

// New makes a cluster of an idle or a new project, and waits until all servers answer and are empty. ctx bounds only
// the start; Close ends the cluster.
func New(ctx context.Context, cfg cluster.Config, projects *Projects) (*Cluster, error) {
	base, err := realcluster.New(cfg, cluster.Docker, projects.choice)
	if err != nil {
		return nil, err
	}
	nodes := slices.DeleteFunc(cfg.Servers(), func(name string) bool { return name == history.StoreName })
	if err := Fits(nodes, cfg.Sentinels); err != nil {
		return nil, err
	}
	p, err := projects.acquire(ctx)
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

// start gives every node a new server.
func (c *Cluster) start(ctx context.Context) error {
	// At most two at a time: starts keep the engine busy, and other runs need it too.
	var renewing errgroup.Group
	renewing.SetLimit(2)
	for _, name := range c.cfg.Servers() {
		own := c.project.containers[name]
		n := &node{Node: c.Add(name, own), container: own, cluster: c}
		n.As = n
		renewing.Go(func() error { return n.renew(ctx) })
	}
	if err := renewing.Wait(); err != nil {
		return err
	}
	for _, name := range c.cfg.SentinelNames() {
		var err error
		if c.Sentinels[name], err = c.project.containers[name].Where(ctx); err != nil {
			return fmt.Errorf("docker cluster: %w", err)
		}
	}
	return nil
}

// open opens the links in the proxy, and follows their events.
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

// Fits returns an error unless the compose project has these nodes and this number of Sentinels.
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

// end ends the clients and the links, and releases the project for the next run.
func (c *Cluster) end() error {
	// The Sentinels forget the master before the links close: the next run uses the ports for other servers.
	errs := []error{c.Workers.Close(), c.Unwatch()}
	_, err := proxy.End.Send(context.Background(), c.project.proxy, struct{}{})
	errs = append(errs, err)
	c.End()
	c.Quiesce()
	if c.network != nil {
		errs = append(errs, c.network.Settle()) // the last events
	}
	errs = append(errs, c.project.proxy.Failed())
	err = errors.Join(errs...)
	// A project with an error is not used again.
	return errors.Join(err, c.projects.release(c.project, err == nil))
}

// remoteNetwork has the links, in the proxy's container.
type remoteNetwork struct {
	*proxy.Client
	record func(history.Event)

	mu   sync.Mutex
	seen int   // number of recorded events
	err  error // the failure that ended the recording
}

// followEvery is the interval between reads of the proxy's events.
const followEvery = 50 * time.Millisecond

// follow records events until ctx ends.
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

// Settle records all events so far. A failure is permanent.
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
