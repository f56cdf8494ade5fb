package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

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

// replicate makes replicas follow their masters, and waits until all are in sync.
func (c *Cluster) replicate(ctx context.Context) error {
	replicas := map[string][]string{} // addresses, by master
	for name, master := range c.cfg.Replicas {
		n := c.Nodes[name]
		lines, err := replicaSettings(c.Address(name, master))
		if err == nil {
			err = n.Machine.keep(lines)
		}
		if err == nil {
			err = c.rejoin(ctx, n)
		}
		if err != nil {
			return n.failed("replicate to", err)
		}
		replicas[master] = append(replicas[master], n.Address())
	}
	for master, addresses := range replicas {
		n := c.Nodes[master]
		if err := n.failed("replicate", awaitReplicas(ctx, n.Address(), addresses)); err != nil {
			return err
		}
	}
	return nil
}

// rejoin configures a started server: a replica follows its master, and a member of a Redis Cluster announces its
// address.
func (c *Cluster) rejoin(ctx context.Context, n *Node) error {
	master, replicates := c.cfg.Replicas[n.name]
	switch {
	case c.links == nil || n.name == history.StoreName:
		return nil
	case c.cfg.RedisCluster:
		m, err := c.member(n.name)
		if err == nil {
			err = announceMember(ctx, m)
		}
		return err
	case !replicates:
		return nil
	}
	if announced := c.Address(cluster.SentinelsName, n.name); announced != "" {
		if err := announce(ctx, "replica", n.Address(), announced); err != nil {
			return err
		}
	}
	return follow(ctx, n.Address(), c.Address(n.name, master))
}

// watch makes the Sentinels watch the master, and waits until they are ready to promote a replica.
func (c *Cluster) watch(ctx context.Context) error {
	var watching errgroup.Group
	watched := c.cfg.Watched()
	for name, address := range c.Sentinels {
		watching.Go(func() error {
			err := watchMaster(ctx, address, c.Address(cluster.SentinelsName, watched[0]), len(c.Sentinels))
			if err == nil {
				err = awaitWatch(ctx, address, len(watched)-1)
			}
			if err != nil {
				return fmt.Errorf("sentinel %s: %w", name, err)
			}
			return nil
		})
	}
	return watching.Wait()
}

func (c *Cluster) Masters(ctx context.Context) ([]string, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var names []string
	for _, sentinel := range c.cfg.SentinelNames() {
		addr, err := masterOf(ctx, c.Sentinels[sentinel])
		if err != nil {
			return nil, fmt.Errorf("ask %s for the master: %w", sentinel, err)
		}
		for _, name := range c.cfg.Watched() {
			if c.Address(cluster.SentinelsName, name) == addr {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// formRedisCluster makes one Redis Cluster of the nodes and their replicas. A member announces one host for its port
// and its bus: the network's, with a port for each. A master announces its replica's link, which the replica dials;
// clients map it to their own links.
func (c *Cluster) formRedisCluster(ctx context.Context) error {
	members, err := c.members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := announceMember(ctx, m); err != nil {
			return fmt.Errorf("node %s: %w", m.Name, err)
		}
	}
	c.ids, err = formCluster(ctx, members)
	return err
}

// members lists the servers of the Redis Cluster.
func (c *Cluster) members() ([]clusterMember, error) {
	var members []clusterMember
	for _, name := range c.cfg.Servers() {
		if name == history.StoreName {
			continue
		}
		m, err := c.member(name)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// member is a server of the Redis Cluster, with its announced address.
func (c *Cluster) member(name string) (clusterMember, error) {
	_, port, err := net.SplitHostPort(c.Address(toBus, name))
	if err != nil {
		return clusterMember{}, fmt.Errorf("node %s has no way to its bus: %w", name, err)
	}
	bus, err := strconv.Atoi(port)
	m := clusterMember{Name: name, Address: c.Nodes[name].Address(), Bus: bus, Master: c.cfg.Replicas[name],
		Announced: c.Address(toMember, name)}
	for replica, master := range c.cfg.Replicas {
		if master == name {
			m.Announced = c.Address(replica, master)
		}
	}
	return m, err
}

func (c *Cluster) Leads(ctx context.Context, replica string) (bool, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	members, err := c.members()
	if err != nil {
		return false, err
	}
	for _, m := range members {
		up, err := c.Nodes[m.Name].isUp(ctx)
		if err != nil {
			return false, err
		}
		if !up && m.Name != replica {
			continue
		}
		if leads, err := leads(ctx, m.Address, c.ids[replica]); err != nil || !leads {
			return false, err
		}
	}
	return true, nil
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
	if setup.ClusterClients == 0 {
		return nil
	}
	members, err := c.members()
	for _, m := range members {
		setup.Routes[m.Announced] = c.Address(setup.Name, m.Name)
	}
	return err
}

// Unwatch makes the Sentinels forget the master.
func (c *Cluster) Unwatch() error {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	var errs []error
	for _, address := range c.Sentinels {
		errs = append(errs, unwatch(ctx, address))
	}
	return errors.Join(errs...)
}
