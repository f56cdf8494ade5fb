//go:build unix

package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/internal/needs"
)

// needShim skips a test where the preload shim cannot be had.
func needShim(t testing.TB) {
	t.Helper()
	needRedis(t)
	needs.PlainTemp(t)
	needs.Check(t, needs.Compiler, can(nodeClock))
}

// node is one with its host.
type node struct {
	*realcluster.Node
	at *host
}

// oneNode starts a cluster of one node, with a connection past its links.
func oneNode(t testing.TB, p cluster.Persistence) (*Cluster, node, *redis.Client) {
	t.Helper()
	needShim(t)
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = p })
	return l, node{l.Nodes["n1"], at(l, "n1")}, dial(t, at(l, "n1").addr)
}

// skew is how far a node's clock is ahead of the true one.
func skew(t testing.TB, l *Cluster, n cluster.Node) time.Duration {
	t.Helper()
	ahead, _ := skewAt(t, l, n)
	return ahead
}

// skewAt is skew, and when it was so. It is measured again until the answer has
// come fast enough: a busy machine takes longer, and measures as well.
func skewAt(t testing.TB, l *Cluster, n cluster.Node) (ahead time.Duration, at int64) {
	t.Helper()
	const fast = int64(time.Millisecond)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		began := l.Now()
		reading, err := n.Clock(t.Context())
		require.NoError(t, err)
		if ended := l.Now(); ended-began < fast {
			at = (began + ended) / 2
			return time.Duration(reading - at), at
		}
	}
	require.Fail(t, "no reading of the clock came fast enough")
	return 0, 0
}

// skewSlack is how far a measured skew may be from the one that was asked for.
const skewSlack = float64(5 * time.Millisecond)

func TestClockJumps(t *testing.T) {
	t.Parallel()
	l, n, _ := oneNode(t, cluster.PersistNone)
	require.InDelta(t, 0, skew(t, l, n), skewSlack)
	var sum time.Duration
	for _, jump := range []time.Duration{time.Second, -3 * time.Second, 24 * time.Hour, 20 * time.Millisecond} {
		require.NoError(t, n.SetClock(t.Context(), jump, 0))
		sum += jump
		require.InDelta(t, sum, skew(t, l, n), skewSlack, "after %v", jump)
	}
}

func TestClockRate(t *testing.T) {
	t.Parallel()
	l, n, _ := oneNode(t, cluster.PersistNone)
	for _, rate := range []float64{1.2, 0.8, 1.005, 1} {
		require.NoError(t, n.SetClock(t.Context(), 0, rate))
		before, began := skewAt(t, l, n)
		time.Sleep(300 * time.Millisecond)
		after, ended := skewAt(t, l, n)
		require.InEpsilon(t, rate, 1+float64(after-before)/float64(ended-began), 0.01)
	}
	require.ErrorContains(t, n.SetClock(t.Context(), 0, -1), "set the clock of n1: a clock cannot run at rate -1")
}

// TestKeysExpireOnTheNodesClock while the server runs.
func TestKeysExpireOnTheNodesClock(t *testing.T) {
	t.Parallel()
	_, n, db := oneNode(t, cluster.PersistNone)
	ctx := t.Context()
	left := func() time.Duration {
		ttl, err := db.PTTL(ctx, "k").Result()
		require.NoError(t, err)
		return ttl
	}
	require.NoError(t, db.Set(ctx, "k", "token", time.Minute).Err())
	require.NoError(t, n.SetClock(ctx, 40*time.Second, 0))
	require.InDelta(t, 20*time.Second, left(), float64(time.Second))
	require.NoError(t, n.SetClock(ctx, -30*time.Second, 0))
	require.InDelta(t, 50*time.Second, left(), float64(time.Second))
	require.NoError(t, n.SetClock(ctx, time.Minute, 0))
	require.ErrorIs(t, db.Get(ctx, "k").Err(), redis.Nil)

	require.NoError(t, n.SetClock(ctx, 0, 50))
	require.NoError(t, db.Set(ctx, "k", "token", 10*time.Second).Err())
	time.Sleep(250 * time.Millisecond)
	require.ErrorIs(t, db.Get(ctx, "k").Err(), redis.Nil)
}

// TestClockOutlivesTheServer: it is the machine's, which may boot with another.
func TestClockOutlivesTheServer(t *testing.T) {
	t.Parallel()
	l, n, db := oneNode(t, cluster.PersistAlways)
	ctx := t.Context()
	require.NoError(t, n.SetClock(ctx, time.Hour, 0))
	require.NoError(t, db.Set(ctx, "k", "token", time.Minute).Err())
	require.NoError(t, n.Kill(ctx))
	require.InDelta(t, time.Hour, skew(t, l, n), skewSlack, "of the machine")
	require.NoError(t, n.Start(ctx))
	require.InDelta(t, time.Hour, skew(t, l, n), skewSlack)
	require.NoError(t, db.Get(ctx, "k").Err())

	require.NoError(t, n.Kill(ctx))
	require.NoError(t, n.SetClock(ctx, 2*time.Minute, 0))
	require.NoError(t, n.Start(ctx))
	require.InDelta(t, time.Hour+2*time.Minute, skew(t, l, n), skewSlack)
	require.ErrorIs(t, db.Get(ctx, "k").Err(), redis.Nil, "its time ran out while the node was down")
}

// TestClocksAreEachNodesOwn, and other processes' clocks are the host's.
func TestClocksAreEachNodesOwn(t *testing.T) {
	t.Parallel()
	needShim(t)
	l := start(t, 2, nil)
	require.NoError(t, l.Node("n1").SetClock(t.Context(), time.Hour, 0))
	require.InDelta(t, time.Hour, skew(t, l, l.Nodes["n1"]), skewSlack)
	require.InDelta(t, 0, skew(t, l, l.Nodes["n2"]), skewSlack)
	require.InDelta(t, 0, skew(t, l, l.Nodes[cluster.StoreName]), skewSlack)
}

// TestClockOfAPausedNode is set all the same, and seen once it goes on.
func TestClockOfAPausedNode(t *testing.T) {
	t.Parallel()
	l, n, _ := oneNode(t, cluster.PersistNone)
	require.NoError(t, n.Pause(t.Context()))
	require.NoError(t, n.SetClock(t.Context(), time.Hour, 0))
	require.NoError(t, n.Resume(t.Context()))
	require.InDelta(t, time.Hour, skew(t, l, n), skewSlack)
}

// sizes are the lengths of the files on a node's disk.
func sizes(t testing.TB, n node) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	require.NoError(t, filepath.WalkDir(n.at.disk, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			require.NoError(t, err)
			found[filepath.Base(path)] = info.Size()
		}
		return err
	}))
	return found
}

// incr is the file that Redis appends to.
const incr = "appendonly.aof.1.incr.aof"

// syncedOf is how much the shim has seen synced of an append-only file.
func syncedOf(t testing.TB, n node, name string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(n.at.disk, "appendonlydir", name))
	require.NoError(t, err)
	all, err := n.at.shim.Synced()
	require.NoError(t, err)
	for file, length := range all {
		if file.Inode == info.Sys().(*syscall.Stat_t).Ino {
			return length
		}
	}
	return 0
}

func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		persistence cluster.Persistence
		remembers   bool
	}{
		{cluster.PersistNone, false},
		{cluster.PersistRDB, false},
		{cluster.PersistNo, false},
		{cluster.PersistEverysec, false},
		{cluster.PersistAlways, true},
	} {
		t.Run(string(c.persistence), func(t *testing.T) {
			_, n, db := oneNode(t, c.persistence)
			ctx := t.Context()
			require.NoError(t, db.Set(ctx, "k", "token", time.Minute).Err())
			before := sizes(t, n)
			lost, err := n.PowerLoss(ctx)
			require.NoError(t, err)
			after := sizes(t, n)
			want := before[incr]
			if c.remembers {
				want = 0
			}
			require.Equal(t, want, lost)
			require.Equal(t, before[incr]-want, after[incr])
			for name, size := range before {
				if name != incr {
					require.Equal(t, size, after[name], "%s was synced", name)
				}
			}
			seen, err := n.Look(ctx)
			require.NoError(t, err)
			require.False(t, seen.Up)

			require.NoError(t, n.Start(ctx))
			seen, err = n.Look(ctx)
			require.NoError(t, err)
			require.Equal(t, c.remembers, len(seen.Keys) == 1)
		})
	}
}

// TestPowerLossIsExact: everysec loses what came after its last fsync, to the
// byte, and the node goes on from there.
func TestPowerLossIsExact(t *testing.T) {
	t.Parallel()
	_, n, db := oneNode(t, cluster.PersistEverysec)
	ctx := t.Context()
	require.NoError(t, db.Set(ctx, "early", "token", time.Minute).Err())
	eventually(t, "the first second is synced", func() bool {
		return syncedOf(t, n, incr) == sizes(t, n)[incr]
	})
	synced := sizes(t, n)[incr]
	// Written at once, before the next second's fsync.
	_, err := db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for range 100 {
			pipe.Set(ctx, "late", "token", time.Minute)
		}
		return nil
	})
	require.NoError(t, err)
	// While an fsync is under way Redis puts a write off, and answers all the same.
	written := synced
	eventually(t, "they are written", func() bool { written = sizes(t, n)[incr]; return written > synced })
	lost, err := n.PowerLoss(ctx)
	require.NoError(t, err)
	require.Equal(t, written-synced, lost)
	require.Equal(t, synced, sizes(t, n)[incr])

	require.NoError(t, n.Start(ctx))
	seen, err := n.Look(ctx)
	require.NoError(t, err)
	require.Contains(t, seen.Keys, "early")
	require.NotContains(t, seen.Keys, "late")
	// A kill is no power loss: what is written now survives it.
	require.NoError(t, db.Set(ctx, "late", "token", time.Minute).Err())
	require.NoError(t, n.Kill(ctx))
	require.NoError(t, n.Start(ctx))
	seen, err = n.Look(ctx)
	require.NoError(t, err)
	require.Contains(t, seen.Keys, "late")
	_, err = n.PowerLoss(ctx)
	require.NoError(t, err)
	_, err = n.PowerLoss(ctx)
	require.ErrorIs(t, err, cluster.ErrDown)
}

// TestPowerLossEndsForks, which would write on after their parent's death.
func TestPowerLossEndsForks(t *testing.T) {
	t.Parallel()
	_, n, db := oneNode(t, cluster.PersistRDB)
	ctx := t.Context()
	// The child of BGSAVE takes its time over each key.
	require.NoError(t, db.ConfigSet(ctx, "rdb-key-save-delay", "100000").Err())
	for _, key := range words("a b c d e f g h i j k l m n o p q r s t") {
		require.NoError(t, db.Set(ctx, key, "value", 0).Err())
	}
	require.NoError(t, db.BgSave(ctx).Err())
	children, err := process.ChildrenOf(n.at.proc.Load().Identity().PID)
	require.NoError(t, err)
	require.Len(t, children, 1)
	_, err = n.PowerLoss(ctx)
	require.NoError(t, err)
	require.False(t, isAlive(children))
}

// TestSlowFsync: with always the reply waits for the disk; and with everysec a
// fsync that stalls keeps what is acknowledged from the file, so that even a kill
// loses it.
func TestSlowFsync(t *testing.T) {
	t.Parallel()
	t.Run("always", func(t *testing.T) {
		_, n, db := oneNode(t, cluster.PersistAlways)
		require.NoError(t, n.SlowFsync(200*time.Millisecond))
		began := time.Now()
		require.NoError(t, db.Set(t.Context(), "k", "token", time.Minute).Err())
		require.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
		require.NoError(t, n.SlowFsync(0))
		done, err := n.Disturbed()
		require.NoError(t, err)
		require.Equal(t, cluster.Disturbed{Delayed: 1}, done)
	})
	t.Run("everysec", func(t *testing.T) {
		_, n, db := oneNode(t, cluster.PersistEverysec)
		ctx := t.Context()
		require.NoError(t, n.SlowFsync(time.Minute))
		require.NoError(t, db.Set(ctx, "early", "token", time.Minute).Err())
		eventually(t, "an fsync stalls", func() bool {
			done, err := n.Disturbed()
			require.NoError(t, err)
			return done.Delayed > 0
		})
		require.NoError(t, db.Set(ctx, "late", "token", time.Minute).Err())
		require.NoError(t, n.Kill(ctx))
		require.NoError(t, n.Start(ctx))
		seen, err := n.Look(ctx)
		require.NoError(t, err)
		require.Contains(t, seen.Keys, "early")
		require.NotContains(t, seen.Keys, "late")
	})
}

// TestFailFsync: with always Redis cannot keep its word, and exits.
func TestFailFsync(t *testing.T) {
	t.Parallel()
	_, n, db := oneNode(t, cluster.PersistAlways)
	require.NoError(t, n.FailFsync(true))
	require.Error(t, db.Set(t.Context(), "k", "token", time.Minute).Err())
	eventually(t, "the server exits", func() bool { return !n.at.proc.Load().Running() })
	require.Contains(t, process.Tail(n.at.logFile()), "Input/output error")
	require.NoError(t, n.FailFsync(false))
	require.NoError(t, n.Start(t.Context()))
	require.NoError(t, db.Set(t.Context(), "k", "token", time.Minute).Err())
}

// TestWithoutACompiler the faults that need the shim are not done by half.
func TestWithoutACompiler(t *testing.T) {
	needRedis(t)
	server, err := findServer("")
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(server.file, filepath.Join(bin, "redis-server")))
	t.Setenv("PATH", bin)
	require.EqualError(t, can(powerLoss), "the local cluster cannot do power-loss: the page cache outlives a killed process, "+
		"so nothing that was written would be lost, and the preload shim needs a C compiler, and none of cc, gcc, clang is in PATH; "+
		"install gcc (Debian and Ubuntu: apt-get install gcc libc6-dev)")

	l := start(t, 1, nil)
	n := l.Node("n1")
	var u *cluster.Unsupported
	_, err = n.PowerLoss(t.Context())
	require.ErrorAs(t, err, &u)
	require.ErrorAs(t, n.SetClock(t.Context(), time.Second, 1), &u)
	require.ErrorAs(t, n.(cluster.Disk).SlowFsync(time.Second), &u)
	require.ErrorAs(t, n.(cluster.Disk).FailFsync(true), &u)
	seen, err := n.Look(t.Context())
	require.NoError(t, err)
	require.True(t, seen.Up)
}

// TestServerThatDoesNotPreload is found out: nothing of what it syncs is seen.
func TestServerThatDoesNotPreload(t *testing.T) {
	needShim(t)
	server, err := findServer("")
	require.NoError(t, err)
	bare := filepath.Join(t.TempDir(), "redis-server")
	script := "#!/bin/sh\nunset LD_PRELOAD\nexec " + server.file + " \"$@\"\n"
	require.NoError(t, os.WriteFile(bare, []byte(script), 0o700))
	cfg := cluster.Config{Nodes: []string{"n1"}, Record: (&events{}).record, Dir: t.TempDir()}
	l, err := New(t.Context(), cfg, cluster.Choice{Server: bare})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, err = l.Node("n1").PowerLoss(t.Context())
	require.ErrorContains(t, err, "does not load the preload shim; use a server that is linked dynamically")
	require.Error(t, l.Node("n1").SetClock(t.Context(), time.Second, 1))
	seen, err := l.Node("n1").Look(t.Context())
	require.NoError(t, err)
	require.True(t, seen.Up)
}
