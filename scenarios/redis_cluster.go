package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/history"
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

var clusterKeys = []string{string(KeysOne), string(KeysTagged)}

// VotingNodes is how many nodes a lock is given: the clients of a Redis Cluster, or one for
// each node.
func (s *Scenario) VotingNodes() int {
	if s.RedisCluster != nil {
		return s.RedisCluster.Clients
	}
	return len(s.Nodes)
}

func (d *decoder) readRedisCluster(n ast.Node) {
	c := &RedisCluster{Keys: KeysOne}
	d.fields(n, "redis-cluster", []field{
		{"clients", "how many clients of the Redis Cluster the lock is given as its nodes",
			func(n ast.Node) { c.Clients = d.integer(n, "clients", 1, maxNodes) }},
		{"keys", "", func(n ast.Node) { c.Keys = ClusterKeys(d.keyword(n, "keys", clusterKeys, "ways to name keys")) }},
	})
	d.s.RedisCluster = c
}

// checkRedisCluster finds what a Redis Cluster, if there is to be one, cannot have.
func (d *decoder) checkRedisCluster(at *token.Position) {
	d.checkSlotMoves(d.s.Script, at != nil)
	for _, v := range d.s.Variants {
		d.checkSlotMoves(v.Script, at != nil)
	}
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
	d.refusePromotion(d.s.Script)
	for _, v := range d.s.Variants {
		d.refusePromotion(v.Script)
		if v.Nodes == 1 {
			d.report(at, fmt.Sprintf("redis-cluster: the variant %q has one node", v.Name),
				"remove it: a lock on one node has `clients: 1`")
		}
	}
}

// refusePromotion finds steps that a Redis Cluster refuses: REPLICAOF is not for it.
func (d *decoder) refusePromotion(steps []Step) {
	for _, s := range steps {
		if s.HasClass(history.Failover) {
			d.report(&token.Position{Line: s.Line, Column: s.Column},
				string(s.Verb)+": a Redis Cluster promotes replicas by itself",
				"wait for it: `await-promotion: "+strings.Join(s.Targets, " ")+"`")
		}
	}
}

// checkSlotMoves finds slots that there are not, or that would stay where they are.
func (d *decoder) checkSlotMoves(steps []Step, slots bool) {
	for _, s := range steps {
		at := &token.Position{Line: s.Line, Column: s.Column}
		switch {
		case !s.HasClass(history.SlotMoves):
		case !slots:
			d.report(at, string(s.Verb)+": these servers are no Redis Cluster, and have no slots",
				"make them one: `redis-cluster: {clients: 1}`")
		case slices.Contains(s.Targets, s.To):
			d.report(at, fmt.Sprintf("%s: the slot of %s is to go to %s itself", s.Verb, s.To, s.To),
				"give it to another node")
		}
	}
}
