//go:build unix

package local

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/history"
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
	ownState(t)
	cmd, f, _ := harness(t)
	require.Len(t, f.Children, 4, "two nodes, the store and a client")
	require.Empty(t, cleaned(t))
	require.Len(t, records(t), 1)
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
	require.Empty(t, records(t))
	require.Empty(t, cleaned(t))
}

// TestHarnessTellsItsStalls stops a whole harness for a while.
func TestHarnessTellsItsStalls(t *testing.T) {
	ownState(t)
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
