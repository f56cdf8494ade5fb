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
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/internal/needs"
)

// needShim skips a test where the preload shim cannot be had.
func needShim(t testing.TB) {
	t.Helper()
	needRedis(t)
	needs.PlainTemp(t)
	needs.Check(t, needs.Compiler, lacks(cluster.AbilityClock))
}

// node is one with its host.
type node struct {
	*realcluster.Node
	at *host
}

// oneNode starts a cluster of one node, with a connection past its links.
func oneNode(t testing.TB, p cluster.Persistence) (node, *redis.Client) {
	t.Helper()
	needShim(t)
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = p })
	return node{l.Nodes["n1"], at(l, "n1")}, dial(t, at(l, "n1").addr)
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

// TestPowerLossIsExact: everysec loses what came after its last fsync, to the
// byte, and the node goes on from there.
func TestPowerLossIsExact(t *testing.T) {
	t.Parallel()
	n, db := oneNode(t, cluster.PersistEverysec)
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
}

// TestPowerLossEndsForks, which would write on after their parent's death.
func TestPowerLossEndsForks(t *testing.T) {
	t.Parallel()
	n, db := oneNode(t, cluster.PersistRDB)
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

// TestWithoutACompiler the faults that need the shim are not done by half.
func TestWithoutACompiler(t *testing.T) {
	needRedis(t)
	server, err := findServer("")
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(server.file, filepath.Join(bin, "redis-server")))
	t.Setenv("PATH", bin)
	require.EqualError(t, Kind.Can(cluster.AbilityPowerLoss), "needs a disk that loses what was not synced, which the local cluster does not "+
		"have: the preload shim needs a C compiler, and none of cc, gcc, clang is in PATH; "+
		"install gcc (Debian and Ubuntu: apt-get install gcc libc6-dev)")

	l := start(t, 1, nil)
	n := l.Node("n1")
	var u *cluster.Unsupported
	_, err = n.PowerLoss(t.Context())
	require.ErrorAs(t, err, &u)
	require.ErrorAs(t, n.SetClock(t.Context(), time.Second, 1), &u)
	_, err = n.(cluster.Server).Disturb(func(d *cluster.DiskFaults) { d.Fail = true })
	require.ErrorAs(t, err, &u)
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
	cfg := cluster.Config{Nodes: []string{"n1"}, Record: new(clustertest.Events).Record}
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
