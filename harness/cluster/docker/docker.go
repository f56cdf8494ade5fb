package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
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
	forwards int // ports of the forwarder in use
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
	if err := fits(nodes, cfg.Sentinels); err != nil {
		return nil, err
	}
	p, err := projects.acquire(ctx)
	if err != nil {
		return nil, err
	}
	base.Version = p.version
	c := &Cluster{Cluster: base, cfg: cfg, projects: projects, project: p}
	if err := c.Build(ctx, c.start, c.listen, c.end); err != nil {
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
		n := &node{Node: c.Add(name, own, own.machine, busPort), container: own, cluster: c}
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

// listen listens for a client on loopback, and for a container behind a port of the forwarder.
func (c *Cluster) listen(l history.Link) (net.Listener, string, error) {
	if slices.Contains(c.cfg.Clients, l.From) {
		return realcluster.Loopback(l)
	}
	c.forwards++
	return c.project.forward(firstPort + c.forwards - 1)
}

// fits returns an error unless the compose project has these nodes and this number of Sentinels.
func fits(nodes []string, wanted int) error {
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
	err := errors.Join(c.Unwatch(), c.Quiesce())
	// A project with an error is not used again.
	return errors.Join(err, c.projects.release(c.project, err == nil))
}
