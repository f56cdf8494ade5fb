package clustertest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func withReplica(cfg *cluster.Config) { cfg.Replicas = map[string]string{"r1": "n1"} }

// replication is a server's replication state.
func replication(t *testing.T, b Bench, name string) history.Replication {
	t.Helper()
	seen := Look(t, b.Node(name))
	require.NotNil(t, seen.Replication)
	return *seen.Replication
}

// A replica copies its master, also after a restart of either.
func replicates(t *testing.T, with With) {
	with(t, 1, withReplica, func(b Bench) {
		master := b.Over("c1", "n1")
		require.Equal(t, history.RoleMaster, replication(t, b, "n1").Role)
		seen := replication(t, b, "r1")
		require.Equal(t, history.RoleReplica, seen.Role)
		require.True(t, seen.Linked)
		require.Equal(t, replication(t, b, "n1").History, seen.History)
		require.NoError(t, master.Set(ctx, "k1", "token", time.Minute).Err())
		require.Equal(t, int64(1), master.Wait(ctx, 1, time.Second).Val())
		require.True(t, hasKey(t, b.Node("r1"), "k1"))

		require.NoError(t, b.Node("n1").Kill(ctx))
		require.NoError(t, b.Node("n1").Start(ctx))
		eventually(t, b, "the replica has copied that there is nothing", func() bool {
			look, err := b.Node("r1").Look(ctx)
			return err == nil && len(look.Keys) == 0
		})
		require.NoError(t, b.Over("c1", "n1").Set(ctx, "k1", "token", time.Minute).Err())
		require.NoError(t, b.Node("r1").Kill(ctx))
		require.NoError(t, b.Node("r1").Start(ctx))
		eventually(t, b, "the replica has the key again", func() bool {
			look, err := b.Node("r1").Look(ctx)
			return err == nil && look.Replication.Linked && look.Keys["k1"].Token == "token"
		})
	})
}

// Writes acknowledged during a cut do not reach the replica, and a promoted replica lacks them. A pause would not
// show this: a paused replica reads the contents of its socket's buffer after it resumes.
func promotes(t *testing.T, with With) {
	with(t, 1, withReplica, func(b Bench) {
		master, replica, link := b.Over("c1", "n1"), b.Over("c2", "r1"), b.Link("r1", "n1")
		require.NoError(t, link.Cut(history.Both))
		passed := link.Measure(history.ToClient)
		require.NoError(t, master.Set(ctx, "k1", "token", time.Minute).Err())
		require.Zero(t, master.Wait(ctx, 1, 50*time.Millisecond).Val())
		require.NoError(t, b.Node("n1").Kill(ctx))
		require.NoError(t, b.Node("r1").Promote(ctx))
		require.Equal(t, history.RoleMaster, replication(t, b, "r1").Role)
		require.ErrorIs(t, replica.Get(ctx, "k1").Err(), redis.Nil)
		require.NoError(t, replica.Set(ctx, "k1", "another", time.Minute).Err(), "it takes writes")
		require.Zero(t, passed().Messages)
		require.ErrorContains(t, b.Node("r1").Promote(ctx), "promote r1: it is a master already")
	})
}

// Sentinels that cannot reach the master promote the replica, although the master is up.
func failsOver(t *testing.T, with With) {
	with(t, 1, func(cfg *cluster.Config) { withReplica(cfg); cfg.Sentinels = 3 }, func(b Bench) {
		all := func(name string) bool {
			masters, err := b.Cluster.(cluster.Real).Masters(ctx)
			return err == nil && len(masters) == 3 && masters[0] == name && masters[1] == name && masters[2] == name
		}
		require.True(t, all("n1"))
		for _, client := range []string{cluster.SentinelsName, "r1"} {
			require.NoError(t, b.Link(client, "n1").Cut(history.Both))
		}
		eventually(t, b, "every Sentinel names the replica", func() bool { return all("r1") })
		require.Equal(t, history.RoleMaster, replication(t, b, "r1").Role)
		require.Equal(t, history.RoleMaster, replication(t, b, "n1").Role, "no Sentinel reaches it")
	})
}

// After a master of a Redis Cluster dies, its replica is elected, and lacks writes made during a cut. A restarted
// member stays a member. k1 is in a slot of the third master.
func failsOverInRedisCluster(t *testing.T, with With) {
	with(t, 3, func(cfg *cluster.Config) { cfg.RedisCluster, cfg.Replicas = true, map[string]string{"r1": "n3"} },
		func(b Bench) {
			leads := func() bool {
				leads, err := b.Cluster.(cluster.Real).Leads(ctx, "r1")
				return err == nil && leads
			}
			n1, n3 := b.Over("c1", "n1"), b.Over("c1", "n3")
			require.ErrorContains(t, n1.Set(ctx, "k1", "token", time.Minute).Err(), "MOVED 12706 ")
			require.NoError(t, n3.Set(ctx, "k1", "token", time.Minute).Err())
			eventually(t, b, "the replica has the key", func() bool { return hasKey(t, b.Node("r1"), "k1") })
			require.False(t, leads())

			require.NoError(t, b.Node("n1").Kill(ctx))
			require.NoError(t, b.Node("n1").Start(ctx))
			eventually(t, b, "n1 takes commands again",
				func() bool { return b.Over("c1", "n1").Set(ctx, "{3}:k1", "token", time.Minute).Err() == nil })

			require.NoError(t, b.Link("r1", "n3").Cut(history.Both))
			require.NoError(t, n3.Set(ctx, "{k1}:late", "token", time.Minute).Err())
			require.NoError(t, n3.Set(ctx, "{4}:k1", "token", time.Minute).Err())
			seen := Look(t, b.Node("n3"))
			require.Len(t, seen.Keys, 3, "keys of several slots")
			require.NoError(t, b.Node("n3").Kill(ctx))
			eventually(t, b, "all members name the replica", leads)
			require.True(t, hasKey(t, b.Node("r1"), "k1"))
			require.False(t, hasKey(t, b.Node("r1"), "{k1}:late"))
		})
}

// A slot of a Redis Cluster moves to another master with its keys. A look shows each key at the master to which clients
// are redirected, also during the move.
func movesSlot(t *testing.T, with With) {
	with(t, 3, func(cfg *cluster.Config) { cfg.RedisCluster = true }, func(b Bench) {
		members := b.Cluster.(cluster.Real)
		owner := func() string {
			name, err := members.SlotOwner(ctx, "k1")
			require.NoError(t, err)
			return name
		}
		require.Equal(t, "n3", owner())
		n1, n3 := b.Over("c1", "n1"), b.Over("c1", "n3")
		require.NoError(t, n3.Set(ctx, "k1", "token", time.Minute).Err())
		require.NoError(t, members.SetSlot(ctx, "n1", "k1", "IMPORTING", "n3"))
		require.NoError(t, members.SetSlot(ctx, "n3", "k1", "MIGRATING", "n1"))
		moved, err := members.MigrateKeys(ctx, "k1", "n3", "n1")
		require.NoError(t, err)
		require.Equal(t, []string{"k1"}, moved)
		require.ErrorContains(t, n3.Get(ctx, "k1").Err(), "ASK 12706 ")
		require.True(t, hasKey(t, b.Node("n1"), "k1"), "who follows ASK finds it there")
		require.False(t, hasKey(t, b.Node("n3"), "k1"))
		for _, member := range []string{"n1", "n3"} {
			require.NoError(t, members.SetSlot(ctx, member, "k1", "NODE", "n1"))
		}
		eventually(t, b, "all members name the new owner", func() bool { return owner() == "n1" })
		require.ErrorContains(t, n3.Get(ctx, "k1").Err(), "MOVED 12706 ")
		require.Equal(t, "token", n1.Get(ctx, "k1").Val())
		require.Positive(t, n1.PTTL(ctx, "k1").Val(), "its expiry goes with it")
	})
}
