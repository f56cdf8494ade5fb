package suite

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/process"
)

// engineThatIsSilent listens as a Docker engine does, and answers nothing. It says
// how often it was asked.
func engineThatIsSilent(t *testing.T) (address string, asked *atomic.Int64) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	asked = &atomic.Int64{}
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
			asked.Add(1)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return "unix://" + socket, asked
}

// leave makes what a harness leaves that was killed: its record, which names an
// engine unless that is "", and its folder.
func leave(t *testing.T, engine string) (record, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), process.FolderPrefix+process.RandomName())
	require.NoError(t, os.Mkdir(folder, 0o700))
	entries := []process.Entry{{Harness: &process.Identity{PID: 1 << 30, Command: "lockproof"}, Folder: folder}}
	if engine != "" {
		entries = append(entries, process.Entry{Engine: engine})
	}
	own, err := process.NewRecord() // it makes the state folder
	require.NoError(t, err)
	require.NoError(t, own.Remove())
	record = filepath.Join(own.Owner(), "run-"+process.RandomName()+".jsonl")
	file, err := os.OpenFile(record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, json.NewEncoder(file).Encode(e))
	}
	require.NoError(t, file.Close())
	return record, folder
}

// A run in virtual time removes what a killed run of any other kind has left, and
// asks no engine where nothing was left on it; it does not wait for one that does
// not answer.
func TestAVirtualRunSweepsForAll(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	engine, asked := engineThatIsSilent(t)
	t.Setenv("DOCKER_HOST", engine)
	run := func() time.Duration {
		began := time.Now()
		trials, err := Run(context.Background(), []Job{plain("a")}, Options{Cluster: Virtual, Trials: 1}, func(Result) {})
		require.NoError(t, err)
		require.Len(t, trials, 1)
		return time.Since(began)
	}

	record, folder := leave(t, "")
	run()
	require.NoFileExists(t, record)
	require.NoDirExists(t, folder)
	require.Zero(t, asked.Load(), "nothing was left on an engine")

	record, folder = leave(t, engine)
	require.Less(t, run(), sweepTimeout/2)
	require.FileExists(t, record, "it is still to be done")
	require.NoDirExists(t, folder)
	require.NotZero(t, asked.Load())
}
