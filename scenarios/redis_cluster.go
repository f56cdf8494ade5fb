package scenarios

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// RedisCluster makes the nodes the masters of one Redis Cluster, and says how a lock is
// set up on it.
type RedisCluster struct {
	Clients int // how many clients of it the lock is given as its nodes
	Keys    ClusterKeys
}

// ClusterKeys is how a lock names its keys in a Redis Cluster.
type ClusterKeys string

// The ways: one key for all of the lock's nodes, which is in one slot; or for each node
// a key of its own, {1}:k1, {2}:k1, ..., whose hash tags spread them over the slots.
const (
	KeysOne    ClusterKeys = "one"
	KeysTagged ClusterKeys = "tagged"
)

// VotingNodes is how many nodes a lock is given: the clients of a Redis Cluster, or one for
// each node.
func (s *Scenario) VotingNodes() int {
	if s.RedisCluster != nil {
		return s.RedisCluster.Clients
	}
	return len(s.Nodes)
}

func (d *decoder) readRedisCluster(n ast.Node, what string) {
	c := &RedisCluster{Keys: KeysOne}
	d.fields(n, what, []field{
		{"clients", "how many clients of the Redis Cluster the lock is given as its nodes",
			set(&c.Clients, integer(1, maxNodes))},
		{"keys", "", set(&c.Keys, oneOf("ways to name keys", KeysOne, KeysTagged))},
	})
	d.s.RedisCluster = c
}

// checkRedisCluster finds what a Redis Cluster, if there is to be one, cannot have.
func (d *decoder) checkRedisCluster(at *token.Position) {
	if at == nil {
		return
	}
	masters := map[string]bool{}
	for _, replica := range slices.Sorted(maps.Keys(d.s.Replicas)) {
		master := d.s.Replicas[replica]
		if masters[master] {
			d.report(at, fmt.Sprintf("redis-cluster: %s has two replicas, one of which is %s", master, replica),
				"give each master one at most, which takes over from it")
		}
		masters[master] = true
	}
	if d.s.Sentinels > 0 {
		d.report(at, "redis-cluster: there are sentinels, and a Redis Cluster promotes replicas by itself",
			"remove `sentinels`")
	}
	if len(d.s.Aliases) > 0 {
		d.report(at, "redis-cluster: its masters are servers of their own, and aliases have none", "remove `aliases`")
	}
	waits := func(v Variant) bool { return v.Lock != nil && v.Lock.WaitsForReplicas() }
	if d.s.Lock.WaitsForReplicas() || slices.ContainsFunc(d.s.Variants, waits) {
		d.report(at, "redis-cluster: WAIT is about a connection to one server, and its clients have many",
			"remove `wait` and `wait-aof` from `lock:`")
	}
	for _, c := range d.s.Clients {
		if len(c.Nodes) > 0 || c.Wait != nil {
			d.report(at, fmt.Sprintf("redis-cluster: %s has `nodes` or `wait` of its own, and a client of it has neither",
				c.Name),
				"remove them: it asks the cluster where a key is")
		}
	}
	for _, v := range d.s.Variants {
		if v.Nodes == 1 {
			d.report(at, fmt.Sprintf("redis-cluster: the variant %q has one node", v.Name),
				"remove it: a lock on one node has `clients: 1`")
		}
	}
}
