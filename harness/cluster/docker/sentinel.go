package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"golang.org/x/sync/errgroup"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/server"
)

// mostSentinels is how many Sentinels the compose project has.
const mostSentinels = 3

var _ cluster.Sentinels = (*Cluster)(nil)

// bringSentinels brings the project's Sentinels up, if they are not yet.
func (q *project) bringSentinels(ctx context.Context) error {
	names := cluster.Config{Sentinels: mostSentinels}.SentinelNames()
	if q.boxes[names[0]] != nil {
		return nil
	}
	up := append([]string{"--profile", "sentinel", "up", "-d", "--no-build", "--no-recreate"}, names...)
	if err := q.compose(ctx, up...); err != nil {
		return err
	}
	list, err := q.engine.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", projectLabel+"="+q.name)),
	})
	if err != nil {
		return err
	}
	found := map[string]*nodeContainer{}
	for _, c := range list {
		found[c.Labels[serviceLabel]] = &nodeContainer{engine: q.engine, service: c.Labels[serviceLabel], id: c.ID, proxy: q.proxy, direct: q.direct}
	}
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	var starting errgroup.Group
	for _, name := range names {
		b := found[name]
		if b == nil {
			return fmt.Errorf("project %s came up without %s", q.name, name)
		}
		q.boxes[name] = b
		starting.Go(func() error { return b.awaitReady(ctx) })
	}
	return starting.Wait()
}

// watch has the Sentinels watch the master, and returns once they are ready to
// promote a replica.
func (c *Cluster) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	var watching errgroup.Group
	watched, names := c.cfg.Watched(), c.cfg.SentinelNames()
	for _, name := range names {
		watching.Go(func() error {
			at := c.project.boxes[name].outside
			master := c.address[proxy.Path{Client: cluster.SentinelsName, Server: watched[0]}]
			err := server.Watch(ctx, at, master, len(names))
			if err == nil {
				err = server.AwaitWatch(ctx, at, len(watched)-1)
			}
			if err != nil {
				return fmt.Errorf("sentinel %s: %w", name, err)
			}
			return nil
		})
	}
	return watching.Wait()
}

// unwatch has the Sentinels forget the master.
func (c *Cluster) unwatch() error {
	ctx, cancel := context.WithTimeout(context.Background(), containerTimeout)
	defer cancel()
	var errs []error
	for _, name := range c.cfg.SentinelNames() {
		if b := c.project.boxes[name]; b != nil {
			errs = append(errs, server.Unwatch(ctx, b.outside))
		}
	}
	return errors.Join(errs...)
}

// Masters gives, for each Sentinel, the server that it names as the master.
func (c *Cluster) Masters(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	var names []string
	for _, sentinel := range c.cfg.SentinelNames() {
		addr, err := server.Master(ctx, c.project.boxes[sentinel].outside)
		if err != nil {
			return nil, fmt.Errorf("ask %s for the master: %w", sentinel, err)
		}
		for _, name := range c.cfg.Watched() {
			if c.address[proxy.Path{Client: cluster.SentinelsName, Server: name}] == addr {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// routes fills in how a client that asks Sentinel reaches it, and what lies behind
// the addresses that Sentinel gives: the client's own links.
func (c *Cluster) routes(setup *client.Setup) error {
	names := setup.Sentinels
	if len(names) == 0 {
		return nil
	}
	setup.Sentinels, setup.Routes = nil, map[string]string{}
	for _, name := range names {
		addr, ok := c.address[proxy.Path{Client: setup.Name, Server: name}]
		if !ok {
			return fmt.Errorf("spawn %s: there is no Sentinel %s: there are %v", setup.Name, name, c.cfg.SentinelNames())
		}
		setup.Sentinels = append(setup.Sentinels, addr)
		setup.Routes[c.project.boxes[name].inside] = addr
	}
	for _, name := range c.cfg.Watched() {
		announced := c.address[proxy.Path{Client: cluster.SentinelsName, Server: name}]
		setup.Routes[announced] = c.address[proxy.Path{Client: setup.Name, Server: name}]
	}
	return nil
}
