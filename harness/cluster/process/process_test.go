package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/internal/needs"
)

func cleaned(t *testing.T) string {
	t.Helper()
	done, err := Clean()
	require.NoError(t, err)
	return strings.Join(done, "\n")
}

func cleanError() error {
	_, err := Clean()
	return err
}

// deadHarness leaves a record and a run's folder of that name, in this test's own state folder.
func deadHarness(t *testing.T, name string) (dir, folder, file string) {
	t.Helper()
	dir, folder = clustertest.OwnState(t), filepath.Join(t.TempDir(), name)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "n1"), 0o700))
	return dir, folder, writeRecord(t, dir, Entry{Harness: &Harness{PID: 4242, Command: "lockproof"}, Folder: folder})
}

// writeRecord writes the record of a dead harness: it is not locked.
func writeRecord(t *testing.T, dir string, entries ...Entry) (file string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	r, err := createLocked(dir)
	require.NoError(t, err)
	rec := &Record{file: r}
	for _, e := range entries {
		require.NoError(t, rec.add(e))
	}
	require.NoError(t, r.Close())
	return r.Name()
}

func TestClean_DeadHarness_RemovesItsFolder(t *testing.T) {
	_, folder, file := deadHarness(t, FolderPrefix+"0123")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"engine":"an eng`)
	require.NoError(t, errors.Join(err, f.Close()), "a record may break off")

	require.Regexp(t, `^lockproof \(pid 4242\) ended without cleaning up
removed .*lockproof-0123$`, cleaned(t))
	require.NoDirExists(t, folder)
	require.NoFileExists(t, file)
}

func TestClean_FolderWithoutRunPrefix_Stays(t *testing.T) {
	_, folder, file := deadHarness(t, "thesis")
	require.ErrorContains(t, cleanError(), "thesis is on record as a run's folder and does not have the name of one: "+
		"not removed")
	require.DirExists(t, folder)
	require.FileExists(t, file)
}

func TestClean_UntrustedFolderOrBadRecord_Fails(t *testing.T) {
	dir, folder, _ := deadHarness(t, FolderPrefix+"0123")
	require.NoError(t, os.Chmod(dir, 0o777))
	require.ErrorContains(t, cleanError(), "must be a folder of this user that no one else can write to")
	require.DirExists(t, folder)

	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run-bad.jsonl"), []byte("nonsense\n"), 0o600))
	require.ErrorContains(t, cleanError(), "run-bad.jsonl: line 1 is not a record's")
	require.NoDirExists(t, folder, "one bad record keeps Clean from the others")
}

func TestNewRecord_NoCacheFolder_UsesTempFolder(t *testing.T) {
	clustertest.OwnState(t)
	t.Setenv("XDG_CACHE_HOME", "/dev/null/cache")
	r, err := NewRecord()
	require.NoError(t, err)
	require.Equal(t, os.TempDir(), filepath.Dir(filepath.Dir(r.file.Name())))
	require.NoError(t, r.Remove())
}

func TestInUse_DeadRun_NotCounted(t *testing.T) {
	dir := clustertest.OwnState(t)
	alive, err := NewRecord()
	require.NoError(t, err)
	require.NoError(t, alive.Use("image:1"))
	ended := writeRecord(t, dir, Entry{Harness: &Harness{}}, Entry{Uses: "image:2"})
	elsewhere := filepath.Join(t.TempDir(), "run-1.jsonl")
	for name, want := range map[string]bool{alive.File(): false, ended: true, filepath.Join(dir, "run-gone.jsonl"): true,
		elsewhere: false} {
		dead, err := Dead(name)
		require.NoError(t, err)
		require.Equal(t, want, dead, name)
	}
	used, err := InUse()
	require.NoError(t, err)
	require.Equal(t, []string{"image:1"}, used)
	require.NoError(t, alive.Remove())
	used, err = InUse()
	require.NoError(t, err)
	require.Empty(t, used)
}

// The next run finds the projects on an engine by the record.
func TestClean_RecordWithEngine_StaysUntilForgotten(t *testing.T) {
	const engine = "an engine"
	dir, folder, _ := deadHarness(t, FolderPrefix+"gone")
	dead := writeRecord(t, dir, Entry{Harness: &Harness{}, Folder: folder}, Entry{Engine: engine})
	living, err := NewRecord()
	require.NoError(t, err)
	require.NoError(t, living.UseEngine(engine))

	for range 2 {
		cleaned(t)
		require.NoDirExists(t, folder)
		require.ElementsMatch(t, []string{dead, living.File()}, clustertest.Records(t))
		found, err := Stranded()
		require.NoError(t, err)
		require.Equal(t, map[string]string{dead: engine}, found)
	}
	require.NoError(t, os.Mkdir(folder, 0o700), "as if it had died since the Clean")
	require.NoError(t, Forget(dead))
	require.NoDirExists(t, folder, "nobody has a record of it any more")
	require.NoError(t, Forget(dead), "somebody else may have done so")
	require.NoError(t, Forget(living.File()))
	require.Equal(t, []string{living.File()}, clustertest.Records(t))
	require.NoError(t, living.Remove())
}

// The parent-death signal follows the forking thread, so the test ends many threads.
func TestStart_OtherThreadsEnd_ChildLives(t *testing.T) {
	needs.Commands(t, "sleep")
	const children, threads = 10, 20
	for range children {
		cmd := exec.Command("sleep", "60")
		// Its own goroutine: no thread is preferred.
		started := make(chan error)
		go func() { started <- Start(cmd) }()
		require.NoError(t, <-started)
		gone := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(gone)
		}()
		endThreads(threads)
		select {
		case <-gone:
			require.Fail(t, "the child died with a thread")
		default:
		}
		require.NoError(t, cmd.Process.Kill())
		<-gone
	}
}

// endThreads ends threads: a thread ends with a goroutine that is locked to it.
func endThreads(n int) {
	var all sync.WaitGroup
	for range n {
		all.Go(runtime.LockOSThread)
	}
	all.Wait()
}

func TestClientProtocolPage_NamesTheLimitsOfAWorker(t *testing.T) {
	data, err := os.ReadFile("../../../docs/client-protocol.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, bound := range []string{
		fmt.Sprintf("message, within %.0f seconds", helloTimeout.Seconds()),
		fmt.Sprintf("A line is at most %d KiB long", maxLine>>10),
		fmt.Sprintf("the last %d bytes of standard error", maxLastWords),
		fmt.Sprintf("each command within %.0f seconds", sendTimeout.Seconds()),
		fmt.Sprintf("end within %.0f seconds of `exit`", closeTimeout.Seconds()),
	} {
		require.Contains(t, text, bound)
	}
}
