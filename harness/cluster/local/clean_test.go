package local

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// harness starts another harness with a cluster, in a state folder and a run
// folder that only this test uses.
func harness(t *testing.T) (cmd *exec.Cmd, f family, more *bufio.Reader) {
	t.Helper()
	needRedis(t)
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=harness", "LOCKPROOF_TEST_DIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		// Where a child does not die with its harness, and if one should not.
		require.NoError(t, Clean(io.Discard))
	})
	more = bufio.NewReader(out)
	line, err := more.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &f), string(line))
	return cmd, f, more
}

// ownState gives a test a state folder of its own.
func ownState(t *testing.T) (folder string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	return stateFolders()[0]
}

func records(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(stateFolders()[0], "run-*.jsonl"))
	require.NoError(t, err)
	return files
}

func cleaned(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Clean(&out))
	return out.String()
}

func TestKilledHarnessLeavesNothing(t *testing.T) {
	ownState(t)
	cmd, f, _ := harness(t)
	require.Len(t, f.Children, 4, "two nodes, the store and a client")
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
	require.Equal(t, "nothing was left behind\n", cleaned(t))
}

func TestCleanLeavesALivingHarnessAlone(t *testing.T) {
	ownState(t)
	_, f, _ := harness(t)
	require.Equal(t, "nothing was left behind\n", cleaned(t))
	require.Len(t, records(t), 1)
	for _, id := range f.Children {
		require.True(t, id.alive(), "%+v", id)
	}
	require.DirExists(t, f.Folder)
}

func TestNewCleansFirst(t *testing.T) {
	ownState(t)
	cmd, f, _ := harness(t)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	l := start(t, 1, nil)
	require.NoDirExists(t, f.Folder)
	require.Len(t, records(t), 1, "only the new run is on record")
	require.NoError(t, l.Close())
	require.Empty(t, records(t))
}

// stranded starts a process that does not die with its harness, as on systems
// without a parent-death signal.
func stranded(t *testing.T) identity {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	id, err := identify(cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, "sleep", id.Command)
	return id
}

// write makes the record of a harness that is dead: nobody locks it.
func write(t *testing.T, dir string, entries ...entry) (file string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	r, err := createLocked(dir)
	require.NoError(t, err)
	rec := &record{file: r}
	for _, e := range entries {
		require.NoError(t, rec.add(e))
	}
	require.NoError(t, r.Close())
	return r.Name()
}

func TestCleanEndsStrandedChildren(t *testing.T) {
	dir := ownState(t)
	child, stopped := stranded(t), stranded(t)
	require.NoError(t, syscall.Kill(stopped.PID, syscall.SIGSTOP))
	folder := filepath.Join(t.TempDir(), folderPrefix+"0123")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "n1"), 0o700))
	file := write(t, dir, entry{Harness: &identity{PID: 4242, Command: "lockproof"}, Folder: folder},
		entry{Child: &child}, entry{Child: &stopped})

	out := cleaned(t)
	require.Regexp(t, `^lockproof \(pid 4242\) ended without cleaning up
ended sleep \(pid \d+\)
ended sleep \(pid \d+\)
removed .*lockproof-0123
$`, out)
	require.False(t, child.alive())
	require.False(t, stopped.alive())
	require.NoDirExists(t, folder)
	require.NoFileExists(t, file)
}

func TestCleanTouchesNoStranger(t *testing.T) {
	dir := ownState(t)
	child := stranded(t)
	later, other := child, child
	later.Started += "1"
	other.Command = "redis-server"
	write(t, dir, entry{Harness: &identity{}}, entry{Child: &later}, entry{Child: &other})
	require.NotContains(t, cleaned(t), "ended sleep")
	require.True(t, child.alive())
	require.Empty(t, records(t))
}

func TestCleanRemovesOnlyFoldersOfRuns(t *testing.T) {
	dir := ownState(t)
	folder := filepath.Join(t.TempDir(), "thesis")
	require.NoError(t, os.Mkdir(folder, 0o700))
	file := write(t, dir, entry{Harness: &identity{}, Folder: folder})
	require.ErrorContains(t, Clean(io.Discard), "thesis is on record as a run's folder and does not have the name of one: not removed")
	require.DirExists(t, folder)
	require.FileExists(t, file)
}

func TestCleanReadsARecordThatBreaksOff(t *testing.T) {
	dir := ownState(t)
	child := stranded(t)
	file := write(t, dir, entry{Harness: &identity{}}, entry{Child: &child})
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"child":{"pid":1`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Contains(t, cleaned(t), "ended sleep")
	require.False(t, child.alive())
}

func TestCleanRefusesWhatOthersCouldHaveWritten(t *testing.T) {
	dir := ownState(t)
	child := stranded(t)
	write(t, dir, entry{Harness: &identity{}}, entry{Child: &child})
	require.NoError(t, os.Chmod(dir, 0o777))
	require.ErrorContains(t, Clean(io.Discard), "must be a folder of this user that no one else can write to")
	require.True(t, child.alive())

	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run-bad.jsonl"), []byte("nonsense\n"), 0o600))
	require.ErrorContains(t, Clean(io.Discard), "run-bad.jsonl: line 1 is not a record's")
	require.False(t, child.alive(), "one bad record keeps Clean from the others")
}

func TestRecordsGoWhereTheyCan(t *testing.T) {
	ownState(t)
	t.Setenv("XDG_CACHE_HOME", "/dev/null/cache")
	r, err := newRecord("/tmp/lockproof-none")
	require.NoError(t, err)
	require.Equal(t, os.TempDir(), filepath.Dir(filepath.Dir(r.file.Name())))
	require.NoError(t, r.remove())
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
