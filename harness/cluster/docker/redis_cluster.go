package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/server"
)

var _ cluster.RedisCluster = (*Cluster)(nil)

// formRedisCluster makes one Redis Cluster of the nodes and their replicas. A member is
// known to all by one host, for its port and for its bus: that of the proxy, which has a
// port for each. A master announces the link of its replica, which dials that; clients map
// it to their own links.
func (c *Cluster) formRedisCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	members, err := c.members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if _, err := server.AnnounceMember(ctx, m); err != nil {
			return fmt.Errorf("node %s: %w", m.Name, err)
		}
	}
	c.ids, err = server.FormCluster(ctx, members)
	return err
}

// members lists the servers of the Redis Cluster.
func (c *Cluster) members() ([]server.Member, error) {
	var members []server.Member
	for _, name := range c.cfg.Servers() {
		if name == cluster.StoreName {
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

// member is a server of the Redis Cluster, as it is to be known.
func (c *Cluster) member(name string) (server.Member, error) {
	_, port, err := net.SplitHostPort(c.address[proxy.Path{Client: proxy.ToBus, Server: name}])
	if err != nil {
		return server.Member{}, fmt.Errorf("node %s has no way to its bus: %w", name, err)
	}
	bus, err := strconv.Atoi(port)
	m := server.Member{Name: name, Address: c.nodes[name].outside, Bus: bus, Master: c.cfg.Replicas[name],
		Announced: c.address[proxy.Path{Client: proxy.ToMember, Server: name}]}
	for replica, master := range c.cfg.Replicas {
		if master == name {
			m.Announced = c.address[proxy.Path{Client: replica, Server: master}]
		}
	}
	return m, err
}

// Leads says whether all members that answer name the replica as a master with slots.
func (c *Cluster) Leads(ctx context.Context, replica string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	members, err := c.members()
	if err != nil {
		return false, err
	}
	for _, m := range members {
		paused, err := c.nodes[m.Name].running(ctx)
		if m.Name != replica && (paused || errors.Is(err, cluster.ErrDown)) {
			continue
		}
		if err != nil {
			return false, err
		}
		if leads, err := server.Leads(ctx, m.Address, c.ids[replica]); err != nil || !leads {
			return false, err
		}
	}
	return true, nil
}

// announce has a member that was started again tell the others what it told them before.
func (n *node) announce(ctx context.Context) error {
	if !n.cluster.cfg.RedisCluster || n.service == cluster.StoreName {
		return nil
	}
	m, err := n.cluster.member(n.service)
	if err == nil {
		_, err = server.AnnounceMember(ctx, m)
	}
	return err
}

// routesToMembers fills in what lies behind the addresses that the Redis Cluster gives:
// the client's own links.
func (c *Cluster) routesToMembers(setup *client.Setup) {
	if setup.ClusterClients == 0 {
		return
	}
	setup.Routes = map[string]string{}
	members, _ := c.members() // it was formed of them
	for _, m := range members {
		setup.Routes[m.Announced] = c.address[proxy.Path{Client: setup.Name, Server: m.Name}]
	}
}
