//go:build unix

package local

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// harness starts another harness with a cluster, in a state folder and a run
// folder that only this test uses.
func harness(t *testing.T) (cmd *exec.Cmd, f family, more *bufio.Reader) {
	t.Helper()
	needRedis(t)
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=harness")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		// Where a child does not die with its harness, and if one should not.
		_, err := process.Clean()
		require.NoError(t, err)
	})
	more = bufio.NewReader(out)
	line, err := more.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &f), string(line))
	return cmd, f, more
}

func cleaned(t *testing.T) string {
	t.Helper()
	done, err := process.Clean()
	require.NoError(t, err)
	return strings.Join(done, "\n")
}

// TestKilledHarnessLeavesNothing: while it lives nothing of it is touched; then its children are gone, and Clean
// removes the rest.
func TestKilledHarnessLeavesNothing(t *testing.T) {
	clustertest.OwnState(t)
	cmd, f, _ := harness(t)
	require.Len(t, f.Children, 4, "two nodes, the store and a client")
	require.Empty(t, cleaned(t))
	require.Len(t, clustertest.Records(t), 1)
	for _, id := range f.Children {
		require.True(t, id.Alive(), "%+v", id)
	}
	require.DirExists(t, f.Folder)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if runtime.GOOS == "linux" {
		eventually(t, "the children die with the harness", func() bool { return !isAlive(f.Children) })
	}
	require.Contains(t, cleaned(t), "ended without cleaning up\n")
	require.False(t, isAlive(f.Children))
	require.NoDirExists(t, f.Folder)
	require.Empty(t, clustertest.Records(t))
	require.Empty(t, cleaned(t))
}

// TestHarnessTellsItsStalls stops a whole harness for a while.
func TestHarnessTellsItsStalls(t *testing.T) {
	clustertest.OwnState(t)
	cmd, _, more := harness(t)
	const long = 200 * time.Millisecond
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(long)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	for range 100 {
		line, err := more.ReadBytes('\n')
		require.NoError(t, err)
		var e history.Event
		require.NoError(t, json.Unmarshal(line, &e))
		require.Equal(t, "harness", e.Process)
		require.Equal(t, history.TypeStall, e.Type)
		require.GreaterOrEqual(t, e.Late, int64(harnessStall))
		if e.Late >= int64(long/2) { // shorter ones may be the machine's
			require.Less(t, e.Late, int64(10*time.Second))
			return
		}
	}
	require.Fail(t, "no stall of the length of the stop")
}

// needShim skips a test where the preload shim cannot be had.
func needShim(t testing.TB) {
	t.Helper()
	needRedis(t)
	needs.PlainTemp(t)
	needs.Check(t, needs.Compiler, lacks(cluster.AbilityClock))
}

// TestPowerLossEndsForks, which would write on after their parent's death.
func TestPowerLossEndsForks(t *testing.T) {
	t.Parallel()
	needShim(t)
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistRDB })
	n, db, ctx := at(l, "n1"), dial(t, at(l, "n1").addr), t.Context()
	// The child of BGSAVE takes its time over each key.
	require.NoError(t, db.ConfigSet(ctx, "rdb-key-save-delay", "100000").Err())
	for i := range 20 {
		require.NoError(t, db.Set(ctx, fmt.Sprint("k", i), "value", 0).Err())
	}
	require.NoError(t, db.BgSave(ctx).Err())
	children, err := process.ChildrenOf(n.proc.Load().Identity().PID)
	require.NoError(t, err)
	require.Len(t, children, 1)
	_, err = l.Node("n1").(cluster.PowerLosing).PowerLoss(ctx)
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
	require.EqualError(t, Kind.Can(cluster.AbilityPowerLoss), "needs a disk that loses what was not synced, which the "+
		"local cluster does not "+
		"have: the preload shim needs a C compiler, and none of cc, gcc, clang is in PATH; "+
		"install gcc (Debian and Ubuntu: apt-get install gcc libc6-dev)")

	l := start(t, 1, nil)
	n := l.Node("n1")
	_, lost := n.(cluster.PowerLosing).PowerLoss(t.Context())
	_, disturbed := n.(cluster.Server).Disturb(func(d *cluster.DiskFaults) { d.Fail = true })
	for _, err := range []error{lost, disturbed, n.(cluster.Clocked).SetClock(t.Context(), time.Second, 1)} {
		var u *cluster.Unsupported
		require.ErrorAs(t, err, &u)
	}
	requireUp(t, l, "n1")
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
	_, err = l.Node("n1").(cluster.PowerLosing).PowerLoss(t.Context())
	require.ErrorContains(t, err, "does not load the preload shim; use a server that is linked dynamically")
	require.Error(t, l.Node("n1").(cluster.Clocked).SetClock(t.Context(), time.Second, 1))
	requireUp(t, l, "n1")
}
