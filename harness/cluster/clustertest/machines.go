package clustertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// clockOffset is how far a node's clock is ahead of the true clock.
func clockOffset(t *testing.T, b Bench, n cluster.Node) time.Duration {
	t.Helper()
	before := b.Now()
	at, err := n.Clock(ctx)
	require.NoError(t, err)
	return time.Duration(at - (before+b.Now())/2)
}

// A node's clock shows the true time until it is set. It belongs to the node's machine: it runs while the server is
// down, and other nodes have their own. Keys expire by it.
func clocks(t *testing.T, with With) {
	const slack = float64(50 * time.Millisecond) // a busy machine takes as long to read it
	with(t, 2, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways }, func(b Bench) {
		n, db := b.Node("n1"), b.Over("c1", "n1")
		require.InDelta(t, 0, clockOffset(t, b, n), slack)
		require.NoError(t, n.SetClock(ctx, time.Hour, 0))
		require.NoError(t, n.SetClock(ctx, -time.Minute, 0))
		require.InDelta(t, 59*time.Minute, clockOffset(t, b, n), slack)
		require.InDelta(t, 0, clockOffset(t, b, b.Node("n2")), slack)

		require.NoError(t, db.Set(ctx, "k1", "token", time.Minute).Err())
		require.NoError(t, db.Set(ctx, "k2", "token", time.Hour).Err())
		require.NoError(t, n.Kill(ctx))
		require.InDelta(t, 59*time.Minute, clockOffset(t, b, n), slack)
		require.NoError(t, n.SetClock(ctx, 2*time.Minute, 0), "of a machine whose server is down")
		require.NoError(t, n.Start(ctx))
		require.InDelta(t, 61*time.Minute, clockOffset(t, b, n), slack)
		require.False(t, hasKey(t, n, "k1"), "its time was over while the node was down")
		require.True(t, hasKey(t, n, "k2"))

		require.NoError(t, n.Pause(ctx))
		require.NoError(t, n.SetClock(ctx, -61*time.Minute, 0))
		require.NoError(t, n.Resume(ctx))
		require.InDelta(t, 0, clockOffset(t, b, n), slack, "it was set while the node was paused")

		require.NoError(t, n.SetClock(ctx, 0, 3))
		begun := b.Now()
		require.NoError(t, b.Sleep(ctx, time.Second))
		gained := clockOffset(t, b, n)
		require.InEpsilon(t, 2*(b.Now()-begun), int64(gained), 0.2)
		require.ErrorContains(t, n.SetClock(ctx, 0, -1), "a clock cannot run at rate -1")
	})
}

// Only synced data survives a power loss.
func losesPower(t *testing.T, with With) {
	for persistence, remembers := range map[cluster.Persistence]bool{cluster.PersistAlways: true, cluster.PersistNo: false,
		cluster.PersistNone: false, cluster.PersistRDB: false} {
		t.Run(string(persistence), func(t *testing.T) {
			with(t, 1, func(cfg *cluster.Config) { cfg.Persistence = persistence }, func(b Bench) {
				n := b.Node("n1")
				require.NoError(t, b.Over("c1", "n1").Set(ctx, "k1", "token", time.Minute).Err())
				lost, err := n.PowerLoss(ctx)
				require.NoError(t, err)
				if persistence == cluster.PersistNo {
					require.Positive(t, lost)
				}
				if remembers {
					require.Zero(t, lost)
				}
				require.False(t, Look(t, n).Up)
				_, err = n.PowerLoss(ctx)
				require.ErrorIs(t, err, cluster.ErrDown)
				require.NoError(t, n.Start(ctx))
				require.Equal(t, remembers, hasKey(t, n, "k1"))
			})
		})
	}
}

func disturb(t *testing.T, n cluster.Node, faults cluster.DiskFaults) (done cluster.Disturbed) {
	t.Helper()
	done, err := n.(cluster.Server).Disturb(func(d *cluster.DiskFaults) { *d = faults })
	require.NoError(t, err)
	return done
}

// A server that syncs each write before it answers waits for its disk.
func slowDisk(t *testing.T, with With) {
	const slow = 200 * time.Millisecond
	with(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways }, func(b Bench) {
		n, db := b.Node("n1"), b.Over("c1", "n1")
		disturb(t, n, cluster.DiskFaults{Slow: slow})
		began := b.Now()
		require.NoError(t, db.Set(ctx, "k1", "token", time.Minute).Err())
		require.GreaterOrEqual(t, b.Now()-began, int64(slow))
		require.Equal(t, cluster.Disturbed{Delayed: 1}, disturb(t, n, cluster.DiskFaults{}))
		require.NoError(t, db.Set(ctx, "k2", "token", time.Minute).Err())
		require.Equal(t, cluster.Disturbed{Delayed: 1}, disturb(t, n, cluster.DiskFaults{}))
	})
}

// A server with appendfsync always exits if it cannot sync a write. With everysec it refuses further writes. The
// disk's faults outlast the server.
func failingDisk(t *testing.T, with With) {
	for _, c := range []struct {
		name        string
		persistence cluster.Persistence
		faults      cluster.DiskFaults
		exits       bool
	}{
		{"fsyncs fail", cluster.PersistAlways, cluster.DiskFaults{Fail: true}, true},
		{"full", cluster.PersistAlways, cluster.DiskFaults{Full: true}, true},
		{"full, everysec", cluster.PersistEverysec, cluster.DiskFaults{Full: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			with(t, 1, func(cfg *cluster.Config) { cfg.Persistence = c.persistence }, func(b Bench) {
				n := b.Node("n1")
				set := func() error { return b.Over("c1", "n1").Set(ctx, "k1", "token", time.Minute).Err() }
				require.NoError(t, set())
				disturb(t, n, c.faults)
				eventually(t, b, "the write fails", func() bool { return set() != nil })
				if c.exits {
					eventually(t, b, "the server exits", func() bool {
						seen, err := n.Look(ctx)
						return err == nil && !seen.Up
					})
				} else {
					require.ErrorContains(t, set(), "MISCONF")
					require.NoError(t, n.Kill(ctx))
				}
				done := disturb(t, n, cluster.DiskFaults{})
				require.Equal(t, []bool{c.faults.Fail, c.faults.Full}, []bool{done.Failed > 0, done.Full > 0})
				require.NoError(t, n.Start(ctx))
				require.NoError(t, set())
			})
		})
	}
}

// A supervisor restarts a dead server, unless its machine lost power.
func supervises(t *testing.T, with With) {
	with(t, 2, func(cfg *cluster.Config) { cfg.Supervised = true }, func(b Bench) {
		n := b.Node("n1")
		for _, end := range []func(context.Context) error{n.Kill, n.Shutdown} {
			before := Look(t, n)
			require.NoError(t, end(ctx))
			again, err := n.(cluster.Server).AwaitRestart(ctx)
			require.NoError(t, err)
			require.True(t, again)
			after := Look(t, n)
			require.True(t, after.Up)
			require.NotEqual(t, before.RunID, after.RunID)
		}
		require.NoError(t, b.Over("c1", "n1").Ping(ctx).Err(), "links lead to the new server")
		_, err := b.Node("n2").PowerLoss(ctx)
		require.NoError(t, err)
		require.NoError(t, b.Sleep(ctx, settle))
		require.False(t, Look(t, b.Node("n2")).Up)
		again, err := b.Node(history.StoreName).(cluster.Server).AwaitRestart(ctx)
		require.NoError(t, err)
		require.False(t, again, "the store has none")
	})
}
