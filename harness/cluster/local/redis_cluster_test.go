package local

import (
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

func asRedisCluster(cfg *cluster.Config) {
	cfg.RedisCluster, cfg.Replicas = true, map[string]string{"r1": "n3"}
}

// k1 is in slot 12706, the third master's. What it acknowledges behind a cut, the replica
// that is elected in its place lacks; and clients are told of the replica.
func TestARedisClusterFailsOverWithoutWhatACutKept(t *testing.T) {
	t.Parallel()
	l := start(t, 3, asRedisCluster)
	n1, n3, r1 := dial(t, l.nodes["n1"].addr), dial(t, l.nodes["n3"].addr), dial(t, l.nodes["r1"].addr)
	require.ErrorContains(t, n1.Set(t.Context(), "k1", "token", time.Minute).Err(), "MOVED 12706 "+l.address[path{"r1", "n3"}])
	require.True(t, replication(t, l, "r1").Linked)
	leads, err := l.Leads(t.Context(), "r1")
	require.NoError(t, err)
	require.False(t, leads)

	require.NoError(t, n3.Set(t.Context(), "k1", "token", time.Minute).Err())
	eventually(t, "a look at the replica finds the key", func() bool {
		seen, err := l.Node("r1").Look(t.Context())
		require.NoError(t, err)
		return seen.Keys["k1"].Token == "token"
	})
	require.NoError(t, l.Link("r1", "n3").Cut(cluster.Both))
	require.NoError(t, n3.Set(t.Context(), "{k1}:late", "token", time.Minute).Err())
	require.NoError(t, n3.Set(t.Context(), "{4}:k1", "token", time.Minute).Err())
	seen, err := l.Node("n3").Look(t.Context())
	require.NoError(t, err)
	require.Len(t, seen.Keys, 3, "keys of several slots")

	require.NoError(t, l.Node("n3").Kill(t.Context()))
	require.Eventually(t, func() bool {
		leads, err := l.Leads(t.Context(), "r1")
		return err == nil && leads
	}, 20*time.Second, 20*time.Millisecond, "all members name the replica")
	require.Equal(t, history.RoleMaster, replication(t, l, "r1").Role)
	require.Equal(t, "token", r1.Get(t.Context(), "k1").Val())
	require.ErrorIs(t, r1.Get(t.Context(), "{k1}:late").Err(), redis.Nil)
	require.ErrorContains(t, n1.Get(t.Context(), "k1").Err(), "MOVED 12706 "+l.nodes["r1"].addr)
}

// A client knows the members by addresses of theirs, and reaches each over its own link.
func TestClientsReachARedisClusterOverTheirLinks(t *testing.T) {
	t.Parallel()
	l := start(t, 3, asRedisCluster)
	setup, err := l.complete(client.Setup{Name: "c1", ClusterClients: 1})
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		l.nodes["n1"].addr:          l.address[path{"c1", "n1"}],
		l.nodes["n2"].addr:          l.address[path{"c1", "n2"}],
		l.address[path{"r1", "n3"}]: l.address[path{"c1", "n3"}],
		l.nodes["r1"].addr:          l.address[path{"c1", "r1"}],
	}, setup.Routes)
	for _, own := range setup.Routes {
		_, _, err := net.SplitHostPort(own)
		require.NoError(t, err)
	}
	plain, err := l.complete(client.Setup{Name: "c1"})
	require.NoError(t, err)
	require.Empty(t, plain.Routes)
}

// A member that is started again is one still, under the address that it had.
func TestAMemberComesBackToItsRedisCluster(t *testing.T) {
	t.Parallel()
	l := start(t, 3, asRedisCluster)
	require.NoError(t, l.Node("n3").Kill(t.Context()))
	require.NoError(t, l.Node("n3").Start(t.Context()))
	n1 := dial(t, l.nodes["n1"].addr)
	require.ErrorContains(t, n1.Get(t.Context(), "k1").Err(), "MOVED 12706 "+l.address[path{"r1", "n3"}])
	eventually(t, "it takes commands again", func() bool {
		return dial(t, l.nodes["n3"].addr).Set(t.Context(), "k1", "token", time.Minute).Err() == nil
	})
}

func TestWhatARedisClusterCannotHave(t *testing.T) {
	cfg := cluster.Config{Nodes: []string{"n1", "n2"}, RedisCluster: true, Record: func(history.Event) {}}
	require.NoError(t, cfg.Check())
	for want, change := range map[string]func(*cluster.Config){
		"may have one replica":    func(c *cluster.Config) { c.Replicas = map[string]string{"r1": "n1", "r2": "n1"} },
		"promotes replicas by it": func(c *cluster.Config) { c.Sentinels, c.Replicas = 3, map[string]string{"r1": "n1"} },
		"none is another's alias": func(c *cluster.Config) { c.Aliases = map[string]string{"n2": "n1"} },
	} {
		bad := cfg
		change(&bad)
		require.ErrorContains(t, bad.Check(), want)
	}
}
