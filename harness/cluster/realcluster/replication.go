package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

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
		return announceMember(ctx, c.member(n.name))
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

const waitTimeout = 20 * time.Millisecond

// replicaSettings are the lines of redis.conf for a replica of the master at an address. A server that starts with them
// resumes replication; a server that gets REPLICAOF later needs a full copy.
func replicaSettings(master string) (string, error) {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return "", fmt.Errorf("the master's address: %w", err)
	}
	return fmt.Sprintf("replicaof %s %s\n", host, port), nil
}

// follow makes a running server a replica of the master at an address.
func follow(ctx context.Context, addr, master string) error {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return fmt.Errorf("the master's address: %w", err)
	}
	return withClient(addr, func(client *redis.Client) error {
		return client.ReplicaOf(ctx, host, port).Err()
	})
}

// promote makes a replica a master, and checks that it is one.
func promote(ctx context.Context, client *redis.Client) error {
	seen, err := replicationOf(ctx, client)
	if err != nil {
		return err
	}
	if seen.Role != history.RoleReplica {
		return errors.New("it is a master already")
	}
	if err := client.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return err
	}
	seen, err = replicationOf(ctx, client)
	if err == nil && seen.Role != history.RoleMaster {
		err = errors.New("it says that it is a replica still")
	}
	return err
}

// awaitReplicas waits until the replicas have their master's data and follow it. PUBLISH is replicated as a write is,
// and changes nothing. WAIT is not enough: Valkey 9.1 counts a replica that is still reading the data sent to it.
func awaitReplicas(ctx context.Context, master string, replicas []string) error {
	err := withClient(master, func(client *redis.Client) error {
		conn := client.Conn()
		defer conn.Close()
		return realtime.Poll(ctx, waitTimeout, func() (bool, error) {
			if err := conn.Publish(ctx, "lockproof", "").Err(); err != nil {
				return false, err
			}
			have, err := conn.Wait(ctx, len(replicas), waitTimeout).Result()
			if err != nil || have < int64(len(replicas)) {
				return false, err
			}
			return allFollow(ctx, replicas)
		})
	})
	if err != nil {
		return fmt.Errorf("not all of its replicas follow it: %w", err)
	}
	return nil
}

// allFollow reports whether all replicas are connected to their master and in sync.
func allFollow(ctx context.Context, replicas []string) (bool, error) {
	for _, addr := range replicas {
		seen, err := readReplication(ctx, addr)
		if err != nil {
			return false, fmt.Errorf("the replica at %s: %w", addr, err)
		}
		if !seen.Linked {
			return false, nil
		}
	}
	return true, nil
}

// readReplication reads a server's replication state.
func readReplication(ctx context.Context, addr string) (*history.Replication, error) {
	return readFrom(addr, func(client *redis.Client) (*history.Replication, error) { return replicationOf(ctx, client) })
}

func replicationOf(ctx context.Context, client *redis.Client) (*history.Replication, error) {
	text, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return nil, err
	}
	return parseReplication(text)
}

// parseReplication reads INFO replication.
func parseReplication(text string) (*history.Replication, error) {
	values := fields(text)
	seen := history.Replication{Role: history.RoleMaster, History: values["master_replid"]}
	offset := "master_repl_offset"
	switch values["role"] {
	case "master":
	case "slave":
		seen.Role, offset = history.RoleReplica, "slave_repl_offset"
		seen.Linked = values["master_link_status"] == "up" && values["master_sync_in_progress"] == "0"
	default:
		return nil, fmt.Errorf("INFO replication gives the role %q: there are master and slave", values["role"])
	}
	var err error
	if seen.Offset, err = strconv.ParseInt(values[offset], 10, 64); err != nil {
		return nil, fmt.Errorf("INFO replication gives no %s: %w", offset, err)
	}
	return &seen, nil
}
