//go:build unix

package local

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// harness starts another harness with a cluster, in this test's own state and run folders.
func harness(t *testing.T) (cmd *exec.Cmd, f family, more *json.Decoder) {
	t.Helper()
	needRedis(t)
	t.Cleanup(func() { cleaned(t) })
	cmd, more = clustertest.Harness(t, &f)
	return cmd, f, more
}

func cleaned(t *testing.T) string {
	t.Helper()
	done, err := process.Clean()
	require.NoError(t, err)
	return strings.Join(done, "\n")
}

// Clean does not touch a living harness. A killed one's children die with it; Clean removes the rest.
func TestClean_KilledHarness_NothingIsLeft(t *testing.T) {
	clustertest.OwnState(t)
	cmd, f, _ := harness(t)
	require.Len(t, f.Children, 4, "two nodes, the store and a client")
	require.Empty(t, cleaned(t))
	require.Len(t, clustertest.Records(t), 1)
	for _, child := range f.Children {
		require.True(t, isAlive(child), child)
	}
	require.DirExists(t, f.Folder)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, "the children die with the harness", func() bool { return !isAlive(f.Children...) })
	require.Contains(t, cleaned(t), "ended without cleaning up\n")
	require.NoDirExists(t, f.Folder)
	require.Empty(t, clustertest.Records(t))
	require.Empty(t, cleaned(t))
}

func TestHarness_StoppedForAWhile_RecordsStall(t *testing.T) {
	clustertest.OwnState(t)
	cmd, _, more := harness(t)
	const long = 200 * time.Millisecond
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(long)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	for range 100 {
		var e history.Event
		require.NoError(t, more.Decode(&e))
		require.Equal(t, "harness", e.Process)
		require.Equal(t, history.TypeStall, e.Type)
		require.GreaterOrEqual(t, e.Late, int64(harnessStall))
		if e.Late >= int64(long/2) { // the machine may cause shorter ones
			require.Less(t, e.Late, int64(10*time.Second))
			return
		}
	}
	require.Fail(t, "no stall of the length of the stop")
}

// needShim skips a test without the preload shim.
func needShim(t testing.TB) {
	t.Helper()
	needRedis(t)
	needs.PlainTemp(t)
	needs.Check(t, needs.Compiler, lacks(cluster.AbilityClock))
}

// A server's fork would continue to write after its parent's death, even after the run.
func TestKill_ServerHasForked_KillsTheFork(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistRDB })
	n, db, ctx := hostOf(l, "n1"), dial(t, hostOf(l, "n1").addr), t.Context()
	// The child of BGSAVE must still run at the kill.
	require.NoError(t, db.ConfigSet(ctx, "rdb-key-save-delay", "100000").Err())
	for i := range 20 {
		require.NoError(t, db.Set(ctx, fmt.Sprint("k", i), "value", 0).Err())
	}
	require.NoError(t, db.BgSave(ctx).Err())
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", n.proc.Load().PID()))
	require.NoError(t, err)
	fork, err := strconv.Atoi(strings.TrimSpace(string(children)))
	require.NoError(t, err)
	require.NoError(t, l.Node("n1").Kill(ctx))
	eventually(t, "the fork ends", func() bool { return !isAlive(fork) })
}

func TestShimFaults_NoCompiler_AreUnsupported(t *testing.T) {
	needRedis(t)
	server, err := findServer("")
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(server.file, filepath.Join(bin, "redis-server")))
	t.Setenv("PATH", bin)
	require.EqualError(t, Kind.Can(cluster.AbilityPowerLoss), "needs a disk that loses what was not synced, which the "+
		"local cluster does not "+
		"have: the preload shim needs a C compiler, and none of cc, gcc, clang is in PATH; "+
		"install gcc (Debian and Ubuntu: apt-get install gcc libc6-dev)")

	l := start(t, 1, nil)
	n := l.Node("n1")
	_, lost := n.PowerLoss(t.Context())
	_, disturbed := n.(cluster.Server).Disturb(func(d *cluster.DiskFaults) { d.Fail = true })
	for _, err := range []error{lost, disturbed, n.SetClock(t.Context(), time.Second, 1)} {
		var u *cluster.Unsupported
		require.ErrorAs(t, err, &u)
	}
	require.True(t, clustertest.Look(t, l.Node("n1")).Up)
}

// The shim does not see this server's fsyncs.
func TestShimFaults_ServerIgnoresPreload_AreUnsupported(t *testing.T) {
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
	require.True(t, clustertest.Look(t, l.Node("n1")).Up)
}
