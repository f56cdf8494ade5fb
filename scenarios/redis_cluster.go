package scenarios

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// RedisCluster makes the nodes the masters of one Redis Cluster, and configures a lock on it.
type RedisCluster struct {
	Clients int // the number of cluster clients that the lock uses as its nodes
	Keys    ClusterKeys
}

// ClusterKeys defines a lock's names of keys in a Redis Cluster.
type ClusterKeys string

// With KeysOne the lock's nodes share one key, and so one slot. With KeysTagged each node has its own key, {1}:k1,
// {2}:k1, ..., with hash tags that spread the keys over the slots.
const (
	KeysOne    ClusterKeys = "one"
	KeysTagged ClusterKeys = "tagged"
)

// VotingNodes is the number of nodes of a lock: the clients of the Redis Cluster, or else the scenario's nodes.
func (s *Scenario) VotingNodes() int {
	if s.RedisCluster != nil {
		return s.RedisCluster.Clients
	}
	return len(s.Nodes)
}

func (d *decoder) redisCluster(n ast.Node, what string) *RedisCluster {
	c := &RedisCluster{Keys: KeysOne}
	d.fields(n, what, []field{
		{"clients", "the number of cluster clients that the lock uses as its nodes",
			set(&c.Clients, integer(1, maxNodes))},
		{"keys", "", set(&c.Keys, oneOf("ways to name keys", KeysOne, KeysTagged))},
	})
	return c
}

// checkRedisCluster reports settings that a Redis Cluster does not support.
func (d *decoder) checkRedisCluster(at *token.Position) {
	if at == nil {
		return
	}
	masters := map[string]bool{}
	for _, replica := range slices.Sorted(maps.Keys(d.s.Replicas)) {
		master := d.s.Replicas[replica]
		if masters[master] {
			d.report(at, fmt.Sprintf("redis-cluster: %s is a second replica of %s", replica, master),
				"give each master at most one, which is promoted if it fails")
		}
		masters[master] = true
	}
	if d.s.Sentinels > 0 {
		d.report(at, "redis-cluster: a Redis Cluster promotes replicas without Sentinels", "remove `sentinels`")
	}
	if len(d.s.Aliases) > 0 {
		d.report(at, "redis-cluster: each master needs its own server, and aliases have none", "remove `aliases`")
	}
	waits := func(v Variant) bool { return v.Lock != nil && v.Lock.WaitsForReplicas() }
	if d.s.Lock.WaitsForReplicas() || slices.ContainsFunc(d.s.Variants, waits) {
		d.report(at, "redis-cluster: WAIT acts on one server's connection, and a cluster client has many",
			"remove `wait` and `wait-aof` from `lock:`")
	}
	for _, c := range d.s.Clients {
		if len(c.Nodes) > 0 || c.Wait != nil {
			d.report(at, fmt.Sprintf("redis-cluster: %s must not have `nodes` or `wait`", c.Name),
				"remove them: a cluster client finds the node of a key itself")
		}
	}
	for _, v := range d.s.Variants {
		if v.Nodes == 1 {
			d.report(at, fmt.Sprintf("redis-cluster: the variant %q has one node", v.Name),
				"remove it: a lock on one node has `clients: 1`")
		}
	}
}
