package local

import (
	"context"
	"fmt"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/link"
	"lockproof/harness/cluster/server"
)

var _ cluster.RedisCluster = (*Cluster)(nil)

// formRedisCluster makes one Redis Cluster of the nodes and their replicas. A master
// announces the link of its replica, which dials that; clients map it to their own links.
func (c *Cluster) formRedisCluster(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for name, master := range c.cfg.Replicas {
		if err := c.open(link.Config{Client: name, Node: master, Opaque: true}, c.nodes[master].addr); err != nil {
			return err
		}
	}
	members := c.members()
	for _, m := range members {
		lines, err := server.AnnounceMember(ctx, m)
		if err == nil {
			err = c.nodes[m.Name].addSettings(lines)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", m.Name, err)
		}
	}
	var err error
	c.ids, err = server.FormCluster(ctx, members)
	return err
}

// members lists the servers of the Redis Cluster.
func (c *Cluster) members() []server.Member {
	var members []server.Member
	for _, name := range c.cfg.Servers() {
		if name == cluster.StoreName {
			continue
		}
		n := c.nodes[name]
		m := server.Member{Name: name, Address: n.addr, Bus: n.bus.number, Announced: n.addr, Master: c.cfg.Replicas[name]}
		for replica, master := range c.cfg.Replicas {
			if master == name {
				m.Announced = c.address[path{replica, master}]
			}
		}
		members = append(members, m)
	}
	return members
}

// Leads says whether all members that answer name the replica as a master with slots.
func (c *Cluster) Leads(ctx context.Context, replica string) (bool, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for _, m := range c.members() {
		if _, down := c.nodes[m.Name].awake(); down != nil && m.Name != replica {
			continue
		}
		if leads, err := server.Leads(ctx, m.Address, c.ids[replica]); err != nil || !leads {
			return false, err
		}
	}
	return true, nil
}

// routesToMembers fills in what lies behind the addresses that the Redis Cluster gives:
// the client's own links.
func (c *Cluster) routesToMembers(setup *client.Setup) {
	if setup.ClusterClients == 0 {
		return
	}
	setup.Routes = map[string]string{}
	for _, m := range c.members() {
		setup.Routes[m.Announced] = c.address[path{setup.Name, m.Name}]
	}
}
