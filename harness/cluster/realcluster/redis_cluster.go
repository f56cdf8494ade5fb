package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// nodeTimeout is the silence after which members of a Redis Cluster consider a member down; Redis's default is 15 s.
// The election of a replica takes another second or two.
const nodeTimeout = 500 * time.Millisecond

// slots is the number of slots of a Redis Cluster.
const slots = 16384

// clusterMember is one server of a Redis Cluster.
type clusterMember struct {
	Name      string
	Address   string // its own, which bypasses the links
	Bus       string // its port of the cluster's bus, at the announced host
	Announced string // its address for other members and clients
	Master    string // the name of its master; "" for a master
}

// memberSettings are the lines of redis.conf for a member of a Redis Cluster with a port for the bus.
func memberSettings(bus int) string {
	return fmt.Sprintf("cluster-enabled yes\ncluster-port %d\ncluster-node-timeout %d\n"+
		// The harness also looks into a member that refuses writes.
		"cluster-allow-reads-when-down yes\n", bus, nodeTimeout.Milliseconds())
}

// members lists the servers of the Redis Cluster.
func (c *Cluster) members() (members []clusterMember) {
	for _, name := range c.cfg.Servers() {
		if name != history.StoreName {
			members = append(members, c.member(name))
		}
	}
	return members
}

// member is a server of the Redis Cluster. It announces one host for its port and its bus: the network's, with a port
// for each. A master announces its replica's link, which the replica dials; clients map it to their own links.
func (c *Cluster) member(name string) clusterMember {
	_, bus, _ := net.SplitHostPort(c.Address(toBus, name)) // a listener's
	m := clusterMember{Name: name, Address: c.Nodes[name].Address(), Bus: bus, Master: c.cfg.Replicas[name],
		Announced: c.Address(toMember, name)}
	for replica, master := range c.cfg.Replicas {
		if master == name {
			m.Announced = c.Address(replica, master)
		}
	}
	return m
}

// announceMember sets the addresses that a member announces, of itself and of its bus.
func announceMember(ctx context.Context, m clusterMember) error {
	return errors.Join(announce(ctx, "cluster", m.Address, m.Announced),
		withClient(m.Address, func(c *redis.Client) error {
			return c.ConfigSet(ctx, "cluster-announce-bus-port", m.Bus).Err()
		}))
}

// formRedisCluster joins the nodes and their replicas into one Redis Cluster; the masters share the slots equally, in
// their order. It waits until all agree on the slots and accept writes, and each replica is in sync.
func (c *Cluster) formRedisCluster(ctx context.Context) error {
	members := c.members()
	for _, m := range members {
		if err := announceMember(ctx, m); err != nil {
			return fmt.Errorf("node %s: %w", m.Name, err)
		}
	}
	masters := slices.DeleteFunc(slices.Clone(members), func(m clusterMember) bool { return m.Master != "" })
	for i, m := range masters {
		if err := assignSlots(ctx, m, slots*i/len(masters), slots*(i+1)/len(masters)-1, i+1); err != nil {
			return fmt.Errorf("give slots to %s: %w", m.Name, err)
		}
	}
	c.ids = map[string]string{}
	for i, m := range members {
		id, err := introduce(ctx, m, members[i+1:])
		if err != nil {
			return fmt.Errorf("introduce %s to the others: %w", m.Name, err)
		}
		c.ids[m.Name] = id
	}
	for _, m := range members {
		if m.Master == "" {
			continue
		}
		err := retry(ctx, func() error {
			return withClient(m.Address, func(r *redis.Client) error {
				return r.ClusterReplicate(ctx, c.ids[m.Master]).Err()
			})
		})
		if err != nil {
			return fmt.Errorf("have %s replicate %s: %w", m.Name, m.Master, err)
		}
	}
	for _, m := range members {
		if err := retry(ctx, func() error { return checkMember(ctx, m, members, c.ids) }); err != nil {
			return fmt.Errorf("the Redis Cluster does not work: %s: %w", m.Name, err)
		}
	}
	return nil
}

// assignSlots gives a master its slots and a unique epoch.
func assignSlots(ctx context.Context, m clusterMember, first, last, epoch int) error {
	return withClient(m.Address, func(c *redis.Client) error {
		return errors.Join(c.ClusterAddSlotsRange(ctx, first, last).Err(),
			c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", epoch).Err())
	})
}

// introduce sends a member CLUSTER MEET for each other member, and returns its ID.
func introduce(ctx context.Context, m clusterMember, others []clusterMember) (id string, err error) {
	err = withClient(m.Address, func(c *redis.Client) error {
		if id, err = c.Do(ctx, "CLUSTER", "MYID").Text(); err != nil {
			return err
		}
		for _, other := range others {
			host, port, err := net.SplitHostPort(other.Announced)
			if err == nil {
				err = c.Do(ctx, "CLUSTER", "MEET", host, port, other.Bus).Err()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return id, err
}

// checkMember returns an error while a member is not ready.
func checkMember(ctx context.Context, m clusterMember, members []clusterMember, ids map[string]string) error {
	view, err := viewOf(ctx, m.Address)
	if err != nil {
		return err
	}
	for _, other := range members {
		seen := view.members[ids[other.Name]]
		if seen.address != other.Announced || seen.master != ids[other.Master] || seen.serves != (other.Master == "") {
			return fmt.Errorf("it knows %s as %+v", other.Name, seen)
		}
	}
	if !view.ok {
		return errors.New("it takes no commands: its cluster_state is fail")
	}
	if m.Master == "" {
		return nil
	}
	seen, err := readReplication(ctx, m.Address)
	if err == nil && !seen.Linked {
		err = errors.New("it has no copy of its master's data")
	}
	return err
}

func (c *Cluster) Leads(ctx context.Context, replica string) (bool, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for _, m := range c.members() {
		up, err := c.Nodes[m.Name].isUp(ctx)
		if err != nil {
			return false, err
		}
		if !up && m.Name != replica {
			continue
		}
		view, err := viewOf(ctx, m.Address)
		if err != nil || !view.ok || !view.members[c.ids[replica]].serves {
			return false, err
		}
	}
	return true, nil
}

// view is a member's view of its Redis Cluster.
type view struct {
	ok      bool            // it accepts commands
	members map[string]seen // by ID
}

// seen is one member in another's view.
type seen struct {
	address string
	master  string // the ID of its master
	serves  bool   // it is a master with slots
}

func viewOf(ctx context.Context, addr string) (view, error) {
	return readFrom(addr, func(c *redis.Client) (view, error) {
		info, err := c.ClusterInfo(ctx).Result()
		if err != nil {
			return view{}, err
		}
		text, err := c.ClusterNodes(ctx).Result()
		if err != nil {
			return view{}, err
		}
		return parseView(info, text)
	})
}

// parseView reads CLUSTER INFO and CLUSTER NODES, whose lines are
//
//	id host:port@bus[,name] flags master ping pong epoch link slots...
func parseView(info, nodes string) (view, error) {
	v := view{ok: fields(info)["cluster_state"] == "ok", members: map[string]seen{}}
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < 8 {
			return view{}, fmt.Errorf("a line of CLUSTER NODES has %d fields, and not 8 or more: %q", len(f), line)
		}
		address, _, _ := strings.Cut(f[1], "@")
		s := seen{address: address, serves: slices.Contains(strings.Split(f[2], ","), "master") && len(f) > 8}
		if f[3] != "-" {
			s.master = f[3]
		}
		v.members[f[0]] = s
	}
	return v, nil
}

// retry calls try until it succeeds or the context ends.
func retry(ctx context.Context, try func() error) error {
	var last error
	err := realtime.Poll(ctx, 10*time.Millisecond, func() (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(last, err)
	}
	return nil
}
