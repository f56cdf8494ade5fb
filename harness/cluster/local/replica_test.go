package local

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// withReplica starts a cluster of a master and its replica, with connections to
// both past their links.
func withReplica(t testing.TB) (l *Cluster, master, replica *redis.Client) {
	t.Helper()
	l = start(t, 1, func(cfg *cluster.Config) { cfg.Replicas = map[string]string{"r1": "n1"} })
	return l, dial(t, l.nodes["n1"].addr), dial(t, l.nodes["r1"].addr)
}

// replication is a server's part in replication.
func replication(t testing.TB, l *Cluster, name string) history.Replication {
	t.Helper()
	seen, err := l.Node(name).Look(t.Context())
	require.NoError(t, err)
	require.NotNil(t, seen.Replication)
	return *seen.Replication
}

func TestAReplicaHasWhatItsMasterHas(t *testing.T) {
	t.Parallel()
	l, master, replica := withReplica(t)
	require.Equal(t, history.RoleMaster, replication(t, l, "n1").Role)
	seen := replication(t, l, "r1")
	require.Equal(t, history.RoleReplica, seen.Role)
	require.True(t, seen.Linked)
	require.Equal(t, replication(t, l, "n1").History, seen.History)

	require.NoError(t, master.Set(t.Context(), "k1", "token", time.Minute).Err())
	eventually(t, "the replica has the key", func() bool { return replica.Get(t.Context(), "k1").Val() == "token" })
	require.Equal(t, int64(1), master.Wait(t.Context(), 1, time.Second).Val())
	require.NotEmpty(t, l.address[path{"c1", "r1"}], "clients have a link to it")
}

// What the master acknowledges behind a cut does not reach the replica, and a
// promoted replica does without it. A cut is no pause: what a stopped replica's
// socket has taken in, it has when it runs on.
func TestAPromotedReplicaLacksWhatACutKeptFromIt(t *testing.T) {
	t.Parallel()
	l, master, replica := withReplica(t)
	require.NoError(t, l.Link("r1", "n1").Cut(cluster.Both))
	passed := l.Link("r1", "n1").Measure(cluster.ToClient)
	require.NoError(t, master.Set(t.Context(), "k1", "token", time.Minute).Err())
	require.Zero(t, master.Wait(t.Context(), 1, 50*time.Millisecond).Val())
	require.NoError(t, l.Node("n1").Kill(t.Context()))
	require.NoError(t, l.Node("r1").(cluster.Replica).Promote(t.Context()))
	require.Equal(t, history.RoleMaster, replication(t, l, "r1").Role)
	require.ErrorIs(t, replica.Get(t.Context(), "k1").Err(), redis.Nil)
	require.NoError(t, replica.Set(t.Context(), "k1", "another", time.Minute).Err(), "it takes writes")
	require.Zero(t, passed().Messages)
	require.ErrorContains(t, l.Node("r1").(cluster.Replica).Promote(t.Context()), "promote r1: it is a master already")
}

func TestAReplicaThatIsStartedAgainFollowsItsMaster(t *testing.T) {
	t.Parallel()
	l, master, _ := withReplica(t)
	require.NoError(t, master.Set(t.Context(), "k1", "token", time.Minute).Err())
	require.NoError(t, l.Node("r1").Kill(t.Context()))
	require.NoError(t, l.Node("r1").Start(t.Context()))
	eventually(t, "the replica has the key again", func() bool {
		seen, err := l.Node("r1").Look(t.Context())
		require.NoError(t, err)
		return seen.Replication != nil && seen.Replication.Linked && seen.Keys["k1"].Token == "token"
	})
}

func TestAReplicaFollowsItsMasterToNothing(t *testing.T) {
	t.Parallel()
	l, master, replica := withReplica(t)
	require.NoError(t, master.Set(t.Context(), "k1", "token", time.Minute).Err())
	eventually(t, "the replica has the key", func() bool { return replica.Get(t.Context(), "k1").Val() == "token" })
	require.NoError(t, l.Node("n1").Kill(t.Context()))
	require.NoError(t, l.Node("n1").Start(t.Context()))
	eventually(t, "the replica has copied that there is nothing", func() bool { return replica.DBSize(t.Context()).Val() == 0 })
}

func TestReplicasNeedAMaster(t *testing.T) {
	for replica, master := range map[string]string{"r1": "n9", "n1": "n1"} {
		cfg := cluster.Config{Nodes: []string{"n1"}, Replicas: map[string]string{replica: master}, Record: func(history.Event) {}}
		require.Error(t, cfg.Check(), replica)
	}
}
