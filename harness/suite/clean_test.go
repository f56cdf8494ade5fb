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

// silentEngine listens like a Docker engine but never replies. It counts its connections.
func silentEngine(t *testing.T) (address string, connections *atomic.Int64) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	connections = &atomic.Int64{}
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
			connections.Add(1)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return "unix://" + socket, connections
}

// makeLeftovers makes the leftovers of a killed harness: its folder, and its record, which names an engine unless
// that is "".
func makeLeftovers(t *testing.T, engine string) (record, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), process.FolderPrefix+process.RandomName())
	require.NoError(t, os.Mkdir(folder, 0o700))
	entries := []process.Entry{{Harness: &process.Harness{PID: 1 << 30, Command: "lockproof"}, Folder: folder}}
	if engine != "" {
		entries = append(entries, process.Entry{Engine: engine})
	}
	own, err := process.NewRecord() // makes the state folder
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

// It connects only to engines with leftovers, and does not wait for a silent one.
func TestSweep_VirtualRun_RemovesLeftoversOfAllKinds(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	engine, connections := silentEngine(t)
	t.Setenv("DOCKER_HOST", engine)
	run := func() time.Duration {
		began := time.Now()
		trials, err := Run(context.Background(), []Job{plain("a")}, Options{Cluster: Virtual, Trials: 1}, func(Result) {})
		require.NoError(t, err)
		require.Len(t, trials, 1)
		return time.Since(began)
	}

	record, folder := makeLeftovers(t, "")
	run()
	require.NoFileExists(t, record)
	require.NoDirExists(t, folder)
	require.Zero(t, connections.Load(), "nothing was left on an engine")

	record, folder = makeLeftovers(t, engine)
	require.Less(t, run(), sweepTimeout/2)
	require.FileExists(t, record, "it is still to be done")
	require.NoDirExists(t, folder)
	require.NotZero(t, connections.Load())
}
