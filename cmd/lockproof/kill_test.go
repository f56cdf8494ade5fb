package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// The harness is killed at random moments. `lockproof clean` or the next run of any kind
// removes its remains, and every history that it began can be judged.
func TestKilledHarness_LeavesNothingRunning(t *testing.T) {
	needs.Long(t, "it kills runs again and again, in real time")
	needs.Check(t, needs.Redis, local.Available(""))
	_, err := os.Stat("/proc/self/environ") // identifies the processes of a run
	needs.Check(t, needs.System, err)
	const kills = 20
	binary := build(t)

	// All runs share one home: an undisturbed run builds the preload shim in its
	// cache once.
	home := t.TempDir()
	victim{binary: binary, home: home, temp: t.TempDir(), out: t.TempDir()}.must(t, "run", "flushall", "--on", "local",
		"--out", t.TempDir())

	rng := rand.New(rand.NewPCG(1, 2))
	children, remains, histories := 0, 0, 0
	for i := range kills {
		v := victim{binary: binary, home: home, temp: t.TempDir(), out: filepath.Join(t.TempDir(), "out")}
		moment := 50*time.Millisecond + time.Duration(rng.Int64N(int64(1200*time.Millisecond)))
		children += v.runAndKill(t, moment, i%2 == 1)
		remains += len(v.left(t))
		next := filepath.Join(filepath.Dir(v.out), "next")
		switch i % 3 {
		case 0:
			v.must(t, "clean")
		case 1:
			v.must(t, "run", "single-instance-down", "--on", "local", "--ttl", "600ms", "--out", next)
		case 2:
			v.must(t, "run", "single-instance-down", "--out", next) // in virtual time
		}
		// A compiler of the preload shim ends by itself.
		require.Eventually(t, func() bool { return len(v.processes(t)) == 0 }, 10*time.Second, 10*time.Millisecond,
			"killed after %v: processes are left: %v", moment, v.processes(t))
		require.Empty(t, v.left(t), "killed after %v: folders or records are left", moment)
		histories += v.judge(t)
	}
	require.Greater(t, children, kills, "the harness had hardly any children when it was killed: this shows nothing")
	require.Positive(t, remains, "no run left anything to remove: this shows nothing")
	require.Positive(t, histories, "no run left a history: this shows nothing")
	t.Logf("%d kills, of harnesses with %d children in all; %d histories judged", kills, children, histories)
}

// victim is one run of the real binary, with its own home and temporary folder:
// all files there are that run's.
type victim struct{ binary, home, temp, out string }

func (v victim) command(args ...string) *exec.Cmd {
	cmd := exec.Command(v.binary, args...)
	cmd.Env = append(os.Environ(), "HOME="+v.home, "XDG_CACHE_HOME="+v.home, "TMPDIR="+v.temp,
		"DOCKER_HOST=unix:///nowhere") // clean must not remove the images of other tests
	return cmd
}

// must runs a command that must succeed; a run may be inconclusive, on a busy
// machine.
func (v victim) must(t *testing.T, args ...string) {
	t.Helper()
	said, code := start(t, v.command(args...)).end(t)
	require.Contains(t, []int{0, reports.ExitInconclusive}, code, "%v: %s", args, said)
}

// runAndKill starts a run, kills it after a while, which counts from its first
// history if it is awaited, and returns the number of its children at that time.
func (v victim) runAndKill(t *testing.T, after time.Duration, history bool) (children int) {
	t.Helper()
	cmd := v.command("run", "client-pause", "hung-node", "healthy-contention",
		"--on", "local", "--ttl", "300ms", "--trials", "5", "--out", v.out)
	require.NoError(t, cmd.Start())
	for began := time.Now(); history && len(v.histories(t)) == 0 && time.Since(began) < time.Minute; {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(after)
	children = len(v.processes(t)) - 1 // not the harness itself
	require.NoError(t, cmd.Process.Kill())
	require.EqualError(t, cmd.Wait(), "signal: killed", "it ended before it was killed")
	return children
}

// processes lists the processes of the run: their working directory is in its
// temporary folder, or their environment names it (redis-server overwrites its
// environment).
func (v victim) processes(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var found []string
	for _, dir := range stats {
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd")) // fails for another user's or an ended process
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.HasPrefix(cwd, v.temp+"/") || strings.Contains("\x00"+string(environment), "\x00TMPDIR="+v.temp+"\x00") {
			name, _ := os.ReadFile(filepath.Join(dir, "comm"))
			found = append(found, filepath.Base(dir)+" "+strings.TrimSpace(string(name)))
		}
	}
	return found
}

// left lists the remaining folders and records of the run.
func (v victim) left(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(v.temp, "*"))
	require.NoError(t, err)
	records, err := filepath.Glob(filepath.Join(v.home, "lockproof", "runs", "*"))
	require.NoError(t, err)
	return append(folders, records...)
}

// judge runs `lockproof check` on every history of the killed run, and returns
// their number.
func (v victim) judge(t *testing.T) int {
	t.Helper()
	all := v.histories(t)
	for _, path := range all {
		said, code := start(t, v.command("check", path)).end(t)
		require.NotContains(t, []int{exitUsage, exitFailed}, code, "check %s: %s", path, said)
	}
	return len(all)
}

// histories lists the histories that the run has begun.
func (v victim) histories(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(v.out, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // not yet, or removed since
		}
		if err == nil && d.Name() == "history.jsonl" {
			paths = append(paths, path)
		}
		return err
	})
	require.NoError(t, err)
	return paths
}
