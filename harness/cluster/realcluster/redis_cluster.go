package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster/realtime"
)

// nodeTimeout is for how long a member of a Redis Cluster has to be silent before another
// takes it for down; Redis's own default is 15 s. A replica is elected a second or two later.
const nodeTimeout = 500 * time.Millisecond

// slots is how many a Redis Cluster shares out.
const slots = 16384

// clusterMember is one server of a Redis Cluster.
type clusterMember struct {
	Name      string
	Address   string // where it listens, past every link
	Bus       int    // its port of the cluster's bus, at the announced host
	Announced string // where the others, and clients, are told that it listens
	Master    string // the name of whom it replicates; "" for a master
}

// memberSettings are the lines of redis.conf that make a server, which listens to the
// others on a port, a member of a Redis Cluster.
func memberSettings(bus int) string {
	return fmt.Sprintf("cluster-enabled yes\ncluster-port %d\ncluster-node-timeout %d\n"+
		// What a member that cannot be written to has is looked at all the same.
		"cluster-allow-reads-when-down yes\n", bus, nodeTimeout.Milliseconds())
}

// announceMember has a member tell the others its announced address from now on.
func announceMember(ctx context.Context, m clusterMember) error {
	host, port, err := net.SplitHostPort(m.Announced)
	if err != nil {
		return err
	}
	return with(m.Address, func(c *redis.Client) error {
		return errors.Join(c.ConfigSet(ctx, "cluster-announce-ip", host).Err(),
			c.ConfigSet(ctx, "cluster-announce-port", port).Err(),
			c.ConfigSet(ctx, "cluster-announce-bus-port", strconv.Itoa(m.Bus)).Err())
	})
}

// formCluster makes one Redis Cluster of servers that have announced themselves: the
// masters share the slots equally, in their order. It returns the members' ids, by name,
// once all agree on who has what, take writes, and each replica has its master's data.
func formCluster(ctx context.Context, members []clusterMember) (ids map[string]string, err error) {
	ids = map[string]string{}
	masters := slices.DeleteFunc(slices.Clone(members), func(m clusterMember) bool { return m.Master != "" })
	for i, m := range masters {
		if err := giveSlots(ctx, m, slots*i/len(masters), slots*(i+1)/len(masters)-1, i+1); err != nil {
			return nil, fmt.Errorf("give slots to %s: %w", m.Name, err)
		}
	}
	for i, m := range members {
		if ids[m.Name], err = introduce(ctx, m, members[i+1:]); err != nil {
			return nil, fmt.Errorf("introduce %s to the others: %w", m.Name, err)
		}
	}
	for _, m := range members {
		if m.Master == "" {
			continue
		}
		err := until(ctx, func() error {
			return with(m.Address, func(c *redis.Client) error { return c.ClusterReplicate(ctx, ids[m.Master]).Err() })
		})
		if err != nil {
			return nil, fmt.Errorf("have %s replicate %s: %w", m.Name, m.Master, err)
		}
	}
	for _, m := range members {
		if err := until(ctx, func() error { return settled(ctx, m, members, ids) }); err != nil {
			return nil, fmt.Errorf("the Redis Cluster does not work: %s: %w", m.Name, err)
		}
	}
	return ids, nil
}

// giveSlots gives a master its slots, and an epoch that no other has.
func giveSlots(ctx context.Context, m clusterMember, first, last, epoch int) error {
	return with(m.Address, func(c *redis.Client) error {
		return errors.Join(c.ClusterAddSlotsRange(ctx, first, last).Err(),
			c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", epoch).Err())
	})
}

// introduce has a member meet others, and gives its id.
func introduce(ctx context.Context, m clusterMember, others []clusterMember) (id string, err error) {
	err = with(m.Address, func(c *redis.Client) error {
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

// settled says what a member still lacks for work.
func settled(ctx context.Context, m clusterMember, members []clusterMember, ids map[string]string) error {
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

// leads says whether a member takes another for a master that has slots, and takes
// commands itself.
func leads(ctx context.Context, addr, id string) (bool, error) {
	view, err := viewOf(ctx, addr)
	return err == nil && view.ok && view.members[id].serves, err
}

// view is what a member of a Redis Cluster knows of it.
type view struct {
	ok      bool            // it takes commands
	members map[string]seen // by id
}

// seen is one member, as another knows it.
type seen struct {
	address string
	master  string // the id of whom it replicates
	serves  bool   // a master that has slots
}

func viewOf(ctx context.Context, addr string) (view, error) {
	return ask(addr, func(c *redis.Client) (view, error) {
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

// until tries again and again, until it succeeds or the context ends.
func until(ctx context.Context, try func() error) error {
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
