package local

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/process"
	"lockproof/harness/history"
)

// A Sentinel that cannot reach the master promotes the replica, although the
// master is up; and what it tells clients leads them over links of their own.
func TestSentinelPromotesBehindACut(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) {
		cfg.Replicas, cfg.Sentinels = map[string]string{"r1": "n1"}, 3
	})
	masters, err := l.Masters(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"n1", "n1", "n1"}, masters)

	for _, link := range [][2]string{{"sentinel", "n1"}, {"r1", "n1"}} {
		require.NoError(t, l.Link(link[0], link[1]).Cut(cluster.Both))
	}
	require.Eventually(t, func() bool {
		masters, err = l.Masters(t.Context())
		return err == nil && masters[0] == "r1" && masters[1] == "r1" && masters[2] == "r1"
	}, 20*time.Second, 20*time.Millisecond, "every Sentinel names the replica")
	require.Equal(t, history.RoleMaster, replication(t, l, "r1").Role)
	require.Equal(t, history.RoleMaster, replication(t, l, "n1").Role, "nobody has told it")

	setup, err := l.complete(client.Setup{Name: "c1", Sentinels: []string{"s1", "s2", "s3"}})
	require.NoError(t, err)
	require.Len(t, setup.Sentinels, 3)
	for announced, own := range map[string]string{
		l.address[path{"sentinel", "n1"}]: l.address[path{"c1", "n1"}],
		l.address[path{"sentinel", "r1"}]: l.address[path{"c1", "r1"}],
		l.sentinels[1].Address:            l.address[path{"c1", "s2"}],
	} {
		require.NotEmpty(t, own)
		require.Equal(t, own, setup.Routes[announced])
	}
	_, err = l.complete(client.Setup{Name: "c1", Sentinels: []string{"s9"}})
	require.ErrorContains(t, err, "there is no Sentinel s9")

	var ids []process.Identity
	for _, s := range l.sentinels {
		ids = append(ids, s.proc.Identity())
	}
	require.NoError(t, l.Close())
	require.False(t, isAlive(ids), "no Sentinel outlives the cluster")
}

func TestSentinelsNeedAReplica(t *testing.T) {
	cfg := cluster.Config{Nodes: []string{"n1"}, Sentinels: 3, Record: func(history.Event) {}}
	require.ErrorContains(t, cfg.Check(), "a replica of the first node to promote")
}
