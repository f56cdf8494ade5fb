package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/internal/needs"
)

// dials runs lockproof test in the module that dials, and returns its output and its folder of results.
func dials(t *testing.T, args ...string) (said, results string, err error) {
	t.Helper()
	return example(t, "dials", args...)
}

// example runs lockproof test in a module of examples, and returns its output and its folder of results.
func example(t *testing.T, name string, args ...string) (said, results string, err error) {
	t.Helper()
	binary := build(t)
	folder := filepath.Join("..", "..", "examples", name)
	out, err := exec.CommandContext(t.Context(), "go", "-C", folder, "mod", "download").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	needs.Check(t, needs.Modules, err)
	results = t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"test", "-C", folder, "-count=1", "-v"}, args...)...)
	cmd.Env = append(os.Environ(), "LOCKPROOF_RESULTS="+results)
	out, err = cmd.CombinedOutput()
	return string(out), results, err
}

// The lock dials other host names in each run, but its histories are equal.
func TestGoTest_OneSeedOneHistory(t *testing.T) {
	read := func() string {
		said, results, err := dials(t, "-run", "TestPlainDelete")
		require.NoError(t, err, said)
		files, err := filepath.Glob(filepath.Join(results, "TestPlainDelete", "histories", "release-by-plain-del", "trials",
			"*", "*", "history.jsonl"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NotContains(t, string(text), ".lockproof.invalid")
		return string(text)
	}
	first := read()
	for range 2 {
		require.Equal(t, first, read())
	}
}

// The module has a lock that dials by itself. Unchanged it keeps mutual exclusion in virtual time; with a plain DEL it
// is found to violate it.
func TestGoTest_LockThatDials_RunsInVirtualTime(t *testing.T) {
	said, _, err := dials(t)
	require.NoError(t, err, said)
	require.NotContains(t, said, "runs on real servers")
	for _, passed := range []string{"healthy-contention", "release-by-plain-del", "slow-acquire"} {
		require.Contains(t, said, "--- PASS: TestCompareAndDelete/"+passed+" (")
	}
	require.Contains(t, said, "EXPECTED: mutual-exclusion: violated, and kept by the reference of its class")
	require.Contains(t, said, "--- SKIP: TestPlainDelete/release-by-plain-del (")

	said, _, err = dials(t, "-tags", "missed", "-run", "TestMissed")
	require.Error(t, err, said)
	for test, told := range map[string]string{
		"DialTCP": "net.DialTCP connects with a real socket: use net.Dial",
		"Outside": "a goroutine that was started outside the trial dials its server",
		"Literal": "redis-1:6379: virtual time has no such host, only what env.Server(i).Addr gives",
	} {
		_, said, found := strings.Cut(said, "=== RUN   TestMissed"+test+"\n")
		require.True(t, found, test)
		said, _, _ = strings.Cut(said, "=== RUN")
		require.Contains(t, said, "--- FAIL: TestMissed"+test)
		require.Contains(t, said, told)
	}
}

// 200 trials find nothing without -interleave.
func TestGoTest_Interleave_FindsARaceInsideTheLock(t *testing.T) {
	said, _, err := dials(t, "-run", "TestRenewed")
	require.NoError(t, err, said)
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Join("..", "..", "examples", "dials", "testdata", "lockproof")) })
	said, _, err = dials(t, "-interleave", "example.com/dials", "-run", "TestRenewed")
	require.Error(t, err, said)
	said = strings.Join(strings.Fields(said), " ")
	require.Regexp(t, `lockproof: example.com/dials: \d+ points in 2 files`, said)
	require.Regexp(t, `cause: a race: a goroutine waits for \S+ \S+ at renewal.go:\d+, and others come by at `+
		`.*renewal.go:\d+`, said)
	require.Contains(t, said, "(without it: holds, 1 of 1 seed")
}

// The dependency is rewritten in a copy, as Go's module cache must not change.
func TestGoTest_Interleave_AcceptsADependency(t *testing.T) {
	said, _, err := dials(t, "-interleave=github.com/gomodule/redigo", "-run", "TestCompareAndDelete")
	require.NoError(t, err, said)
	require.Regexp(t, `lockproof: github.com/gomodule/redigo: \d+ points in \d+ files`, said)
	said, _, err = dials(t, "-interleave=github.com/gomodule/redis", "-run", "TestCompareAndDelete")
	require.Error(t, err)
	require.Contains(t, said, "-interleave: github.com/gomodule/redis: the tests build no package of such a module, "+
		"only of")
}

// The tests are children of the go command, not of lockproof.
func TestGoTest_Killed_LeavesNothingRunning(t *testing.T) {
	needs.Commands(t, "pgrep")
	dials(t, "-run", "^$") // builds it
	mark := process.RandomName()
	cmd := exec.CommandContext(t.Context(), build(t), "test", "-C", filepath.Join("..", "..", "examples", "dials"),
		"-count=1",
		"-run", "TestCompareAndDelete|"+mark)
	cmd.Env = append(os.Environ(), "LOCKPROOF_RESULTS="+t.TempDir())
	require.NoError(t, cmd.Start())
	running := func() bool { return exec.Command("pgrep", "-f", "dials.test.*"+mark).Run() == nil }
	require.Eventually(t, running, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !running() }, 30*time.Second, 100*time.Millisecond)
}
