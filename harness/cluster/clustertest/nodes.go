package clustertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func remembers(t *testing.T, with With) {
	kill, shutdown := cluster.Node.Kill, cluster.Node.Shutdown
	for _, c := range []struct {
		persistence cluster.Persistence
		down        string
		by          func(cluster.Node, context.Context) error
		remembers   bool
	}{
		{cluster.PersistNone, "kill", kill, false},
		{cluster.PersistNone, "shutdown", shutdown, false},
		{cluster.PersistRDB, "kill", kill, false},
		{cluster.PersistRDB, "shutdown", shutdown, true},
		{cluster.PersistNo, "kill", kill, true},
		{cluster.PersistEverysec, "kill", kill, true},
		{cluster.PersistAlways, "kill", kill, true},
		{cluster.PersistAlways, "shutdown", shutdown, true},
	} {
		t.Run(string(c.persistence)+" "+c.down, func(t *testing.T) {
			with(t, 1, func(cfg *cluster.Config) { cfg.Persistence = c.persistence }, func(b Bench) {
				n := b.Node("n1")
				require.False(t, hasKey(t, n, "k1"), "the run before has left something")
				require.NoError(t, b.Over("c1", "n1").Set(ctx, "k1", "token", time.Minute).Err())
				before := Look(t, n)
				require.Equal(t, "token", before.Keys["k1"].Token)

				require.NoError(t, c.by(n, ctx))
				require.Equal(t, history.Node{}, Look(t, n))
				require.NoError(t, n.Start(ctx))
				after := Look(t, n)
				require.True(t, after.Up)
				require.NotEqual(t, before.RunID, after.RunID)
				if !c.remembers {
					require.Empty(t, after.Keys)
				} else {
					require.Equal(t, "token", after.Keys["k1"].Token)
					require.LessOrEqual(t, after.Keys["k1"].TTL, before.Keys["k1"].TTL)
					require.Positive(t, after.Keys["k1"].TTL)
				}
				require.NoError(t, b.Over("c2", "n1").Set(ctx, "k2", "again", time.Minute).Err(), "links lead to the new server")
			})
		})
	}
}

// A paused node replies to no client until it resumes, and then to all.
func pauses(t *testing.T, with With) {
	with(t, 1, nil, func(b Bench) {
		n, db := b.Node("n1"), b.Over("c1", "n1")
		require.NoError(t, db.Set(ctx, "k1", "token", time.Minute).Err())
		require.NoError(t, n.Pause(ctx))
		sent := sendSet(db, "k2")
		require.NoError(t, b.Sleep(ctx, settle))
		require.True(t, pending(sent))
		require.False(t, Look(t, n).Up)
		for what, do := range map[string]func(context.Context) error{"shutdown": n.Shutdown, "flush": n.Flush} {
			require.EqualError(t, do(ctx), what+" n1: it is paused and cannot obey: resume it first")
		}
		require.NoError(t, n.Pause(ctx), "a second pause changes nothing")
		require.NoError(t, n.Resume(ctx))
		require.NoError(t, <-sent)
		require.Equal(t, "token", db.Get(ctx, "k1").Val())
		require.NoError(t, n.Resume(ctx), "a second resume changes nothing")

		require.NoError(t, n.Pause(ctx))
		require.NoError(t, n.Kill(ctx), "a paused node can be killed")
		for what, do := range map[string]func(context.Context) error{"kill": n.Kill, "pause": n.Pause, "resume": n.Resume,
			"flush": n.Flush} {
			require.EqualError(t, do(ctx), what+" n1: the node is down")
		}
	})
}

// A kill closes the node's connections, as the end of a process does: clients fail at once.
func kills(t *testing.T, with With) {
	with(t, 2, nil, func(b Bench) {
		db := b.Over("c1", "n2")
		require.NoError(t, db.Ping(ctx).Err())
		_, err := b.Link("c1", "n2").Intercept(cluster.Intercept{Command: "SET", Part: history.PartCommand,
			Action: cluster.Hold})
		require.NoError(t, err)
		sent := sendSet(db, "k1")
		require.NoError(t, b.Sleep(ctx, settle))
		require.True(t, pending(sent))
		require.NoError(t, b.Node("n2").Kill(ctx))
		require.Error(t, <-sent)
		require.ErrorIs(t, b.Node("n2").Kill(ctx), cluster.ErrDown)
		require.NoError(t, b.Node("n2").Start(ctx))
		require.False(t, hasKey(t, b.Node("n2"), "k1"), "a command on its way is lost")
		require.NoError(t, b.Over("c1", "n1").Ping(ctx).Err())
	})
}

func flushes(t *testing.T, with With) {
	with(t, 1, nil, func(b Bench) {
		n := b.Node("n1")
		require.ErrorContains(t, n.Start(ctx), "start n1: it is running already")
		require.NoError(t, b.Over("c1", "n1").Set(ctx, "k1", "token", 0).Err())
		require.True(t, hasKey(t, n, "k1"))
		require.NoError(t, n.Flush(ctx))
		require.False(t, hasKey(t, n, "k1"))
	})
}

// A look shows the run ID, and each lock key with its token and remaining TTL.
func looks(t *testing.T, with With) {
	with(t, 1, nil, func(b Bench) {
		db := b.Over("c1", "n1")
		require.NoError(t, db.Set(ctx, "short", "a", time.Minute).Err())
		require.NoError(t, db.Set(ctx, "endless", "b", 0).Err())
		require.NoError(t, db.Incr(ctx, "fence:short").Err())
		seen := Look(t, b.Node("n1"))
		require.Len(t, seen.RunID, 40)
		require.Len(t, seen.Keys, 2, "a fencing counter is no lock's key")
		require.Equal(t, history.KeyState{Token: "b", TTL: -1}, seen.Keys["endless"])
		require.Equal(t, "a", seen.Keys["short"].Token)
		require.LessOrEqual(t, seen.Keys["short"].TTL, int64(time.Minute))
		require.Greater(t, seen.Keys["short"].TTL, int64(50*time.Second))
	})
}

// An alias is another name of a server.
func aliases(t *testing.T, with With) {
	with(t, 3, func(cfg *cluster.Config) { cfg.Aliases = map[string]string{"n2": "n1", "n3": "n2"} }, func(b Bench) {
		require.Equal(t, b.Node("n1"), b.Node("n3"))
		require.NoError(t, b.Over("c1", "n1").Set(ctx, "k1", "token", 0).Err())
		require.True(t, hasKey(t, b.Node("n3"), "k1"))
		require.NotNil(t, b.Link("c1", "n3"))
		require.Nil(t, b.Link("c9", "n1"))
		require.Nil(t, b.Node("n9"))
		require.NoError(t, b.Node("n3").Kill(ctx))
		require.False(t, Look(t, b.Node("n1")).Up)
	})
}
