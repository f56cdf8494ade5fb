package docker

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/history"
)

// k1 is in slot 12706, the third master's. What it acknowledges behind a cut, the replica
// that is elected in its place lacks; and clients are told of the replica, and come back to
// a member that was started again.
func TestARedisClusterOfContainersFailsOver(t *testing.T) {
	c := start(t, 3, func(cfg *cluster.Config) { cfg.RedisCluster, cfg.Replicas = true, map[string]string{"r1": "n3"} })
	setup := client.Setup{Name: "c1", ClusterClients: 1}
	c.routesToMembers(&setup)
	require.Len(t, setup.Routes, 4)
	announced := c.address[proxy.Path{Client: "r1", Server: "n3"}]
	require.Equal(t, c.address[proxy.Path{Client: "c1", Server: "n3"}], setup.Routes[announced])
	n1, n3, r1 := dial(t, c.nodes["n1"].outside), dial(t, c.nodes["n3"].outside), dial(t, c.nodes["r1"].outside)
	require.ErrorContains(t, n1.Get(t.Context(), "k1").Err(), "MOVED 12706 "+announced)

	require.NoError(t, n3.Set(t.Context(), "k1", "copied", time.Minute).Err())
	require.Eventually(t, func() bool {
		seen, err := c.Node("r1").Look(t.Context())
		return err == nil && seen.Keys["k1"].Token == "copied"
	}, 20*time.Second, 20*time.Millisecond, "the replica has the key")
	require.NoError(t, c.Link("r1", "n3").Cut(cluster.Both))
	require.NoError(t, n3.Set(t.Context(), "{k1}:late", "kept away", time.Minute).Err())
	require.NoError(t, c.Node("n3").Kill(t.Context()))
	require.Eventually(t, func() bool {
		leads, err := c.Leads(t.Context(), "r1")
		return err == nil && leads
	}, 30*time.Second, 50*time.Millisecond, "all members name the replica")
	seen, err := c.Node("r1").Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, history.RoleMaster, seen.Replication.Role)
	require.Equal(t, "copied", r1.Get(t.Context(), "k1").Val())
	require.ErrorIs(t, r1.Get(t.Context(), "{k1}:late").Err(), redis.Nil)
}

// A member that is started again has another address, and is known by the one that it had.
func TestAMemberInAContainerComesBackToItsRedisCluster(t *testing.T) {
	c := start(t, 3, func(cfg *cluster.Config) { cfg.RedisCluster, cfg.Replicas = true, map[string]string{"r1": "n3"} })
	require.NoError(t, c.Node("n1").Kill(t.Context()))
	require.NoError(t, c.Node("n1").Start(t.Context()))
	require.Eventually(t, func() bool { // a key of n1's slots
		return dial(t, c.nodes["n1"].outside).Set(t.Context(), "{3}:k1", "token", time.Minute).Err() == nil
	}, 30*time.Second, 50*time.Millisecond, "it takes commands again")
	require.ErrorContains(t, dial(t, c.nodes["n2"].outside).Get(t.Context(), "{3}:k1").Err(),
		c.address[proxy.Path{Client: proxy.ToMember, Server: "n1"}])
}
