package local

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/shim"
)

var _ client.Host = (*Cluster)(nil)

// Cluster is a cluster.Cluster of processes on this machine.
type Cluster struct {
	*realcluster.Cluster
	cfg     cluster.Config
	server  program
	library string // the preload shim; "" without one: see lacks
	record  *process.Record
	hosts   []*host // of servers and Sentinels
}

var _ cluster.Real = (*Cluster)(nil)

// New starts one redis-server for each distinct node and one for the store, concurrently, with a link from every client
// to each. It waits until all servers answer. ctx bounds only the start; Close ends the cluster.
func New(ctx context.Context, cfg cluster.Config, choice cluster.Choice) (*Cluster, error) {
	program, err := findServer(choice.Server)
	if err != nil {
		return nil, err
	}
	base, err := realcluster.New(cfg, cluster.Local, choice)
	if err != nil {
		return nil, err
	}
	base.Version = program.String()
	c := &Cluster{Cluster: base, cfg: cfg, server: program}
	// Without a shim some faults are unsupported: see lacks.
	c.library, _ = shim.Build("")
	if err := c.Build(ctx, c.start, realcluster.Loopback, c.end); err != nil {
		return nil, err
	}
	return c, nil
}

// start creates the run's folder and starts the servers.
func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.record, err = process.NewRecord(); err != nil {
		return fmt.Errorf("local cluster: %w", err)
	}
	var starting errgroup.Group
	err = c.startAll(ctx, &starting)
	return errors.Join(err, starting.Wait())
}

func (c *Cluster) startAll(ctx context.Context, starting *errgroup.Group) error {
	for _, name := range c.cfg.Servers() {
		h, err := c.newServer(name)
		if err != nil {
			return err
		}
		n := c.Add(name, h, h.machine, h.bus.number)
		starting.Go(func() error { return n.Start(ctx) })
	}
	for _, name := range c.cfg.SentinelNames() {
		h, err := c.newSentinel(name)
		if err != nil {
			return err
		}
		c.Sentinels[name] = h.addr
		starting.Go(func() error {
			err := h.Run(ctx)
			if err == nil {
				err = realcluster.AwaitAnswer(ctx, h)
			}
			return err
		})
	}
	return nil
}

// end ends every process, heals every link and removes every file.
func (c *Cluster) end() error {
	errs := []error{c.Quiesce()}
	for _, h := range c.hosts {
		errs = append(errs, h.close())
	}
	if err := errors.Join(errs...); err != nil || c.record == nil {
		return err // the record stays for Clean
	}
	return c.record.Remove()
}
