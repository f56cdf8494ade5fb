package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/internal/needs"
)

// exampleFolder is the folder of a module of examples, whose dependencies are there.
func exampleFolder(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join("..", "..", "examples", name)
	out, err := exec.CommandContext(t.Context(), "go", "-C", folder, "mod", "download").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	needs.Check(t, needs.Modules, err)
	return folder
}

// lockproofTest runs lockproof test in a module of examples.
func lockproofTest(t *testing.T, module string, args ...string) (said string, err error) {
	t.Helper()
	binary, folder := build(t), exampleFolder(t, module)
	cmd := exec.CommandContext(t.Context(), binary,
		append([]string{"test", "-C", folder, "-count=1", "-v"}, args...)...)
	cmd.Env = append(os.Environ(), locktest.ResultsVariable+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// dials runs lockproof test in the module that dials.
func dials(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	return lockproofTest(t, "dials", args...)
}

// requireOneHistory compiles a module's tests with lockproof test, runs some of them several times, and requires the
// same histories of a row each time, "" for all rows. It returns them by path.
func requireOneHistory(t *testing.T, runs int, module, tests, row string, flags ...string) map[string]string {
	t.Helper()
	compiled := filepath.Join(t.TempDir(), "test")
	said, err := lockproofTest(t, module, append(flags, "-vet=off", "-c", "-o", compiled, ".")...)
	require.NoError(t, err, said)
	var first map[string]string
	for range runs {
		results := t.TempDir()
		cmd := exec.CommandContext(t.Context(), compiled, "-test.run", tests)
		cmd.Dir, cmd.Env = exampleFolder(t, module), append(os.Environ(), locktest.ResultsVariable+"="+results)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		found := map[string]string{}
		require.NoError(t, filepath.WalkDir(results, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.Name() != "history.jsonl" || !strings.Contains(path, row) {
				return err
			}
			text, err := os.ReadFile(path)
			found[strings.TrimPrefix(path, results)] = string(text)
			return err
		}))
		if first == nil {
			first = found
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(first)), slices.Collect(maps.Keys(found)))
		for path, text := range first {
			require.True(t, text == found[path], "%s differs", path)
		}
	}
	return first
}

// The lock dials other host names in each run, but its histories are equal.
func TestGoTest_OneSeedOneHistory(t *testing.T) {
	histories := requireOneHistory(t, 3, "dials", "^TestPlainDelete$", "release-by-plain-del")
	require.Len(t, histories, 1)
	for _, text := range histories {
		require.NotContains(t, text, ".lockproof.invalid")
	}
}

// rueidis has racing goroutines: plain go test hardly repeats a history.
func TestGoTest_Repeatable_OneSeedOneHistory(t *testing.T) {
	needs.Long(t, "it compiles Go's runtime, and all that is built on it")
	require.Greater(t, len(requireOneHistory(t, 2, "locktest", "^TestRueidis$", "", "-repeatable")), 40)
}

// The module has a lock that dials by itself. Unchanged it keeps mutual exclusion in virtual time; with a plain DEL it
// is found to violate it.
func TestGoTest_LockThatDials_RunsInVirtualTime(t *testing.T) {
	said, err := dials(t)
	require.NoError(t, err, said)
	require.NotContains(t, said, "runs on real servers")
	for _, passed := range []string{"healthy-contention", "release-by-plain-del", "slow-acquire"} {
		require.Contains(t, said, "--- PASS: TestCompareAndDelete/"+passed+" (")
	}
	require.Contains(t, said, "--- PASS: TestRenewed (", "its race is not found without -interleave")
	require.Contains(t, said, "EXPECTED: mutual-exclusion: violated, and kept by the reference of its class")
	require.Contains(t, said, "--- SKIP: TestPlainDelete/release-by-plain-del (")

	said, err = dials(t, "-tags", "missed", "-run", "TestMissed")
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

func TestGoTest_Interleave_FindsARaceInsideTheLock(t *testing.T) {
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Join("..", "..", "examples", "dials", "testdata", "lockproof")) })
	said, err := dials(t, "-interleave", "example.com/dials", "-run", "TestRenewed")
	require.Error(t, err, said)
	said = strings.Join(strings.Fields(said), " ")
	require.Regexp(t, `lockproof: example.com/dials: \d+ points in 2 files`, said)
	require.Regexp(t, `cause: a race: a goroutine waits for \S+ \S+ at renewal.go:\d+, and others come by at `+
		`.*renewal.go:\d+`, said)
	require.Contains(t, said, "(without it: holds, 1 of 1 seed")
}

// The dependency is rewritten in a copy, as Go's module cache must not change.
func TestGoTest_Interleave_AcceptsADependency(t *testing.T) {
	said, err := dials(t, "-interleave=github.com/gomodule/redigo", "-run", "TestCompareAndDelete")
	require.NoError(t, err, said)
	require.Regexp(t, `lockproof: github.com/gomodule/redigo: \d+ points in \d+ files`, said)
	said, err = dials(t, "-interleave=github.com/gomodule/redis", "-run", "TestCompareAndDelete")
	require.Error(t, err)
	require.Contains(t, said, "-interleave: github.com/gomodule/redis: the tests build no package of such a module, "+
		"only of")
}

// The tests are children of the go command, not of lockproof.
func TestGoTest_Killed_LeavesNothingRunning(t *testing.T) {
	needs.Commands(t, "pgrep")
	said, err := dials(t, "-run", "^$") // builds it
	require.NoError(t, err, said)
	mark := process.RandomName()
	cmd := exec.CommandContext(t.Context(), build(t), "test", "-C", exampleFolder(t, "dials"), "-count=1",
		"-run", "TestCompareAndDelete|"+mark)
	cmd.Env = append(os.Environ(), locktest.ResultsVariable+"="+t.TempDir())
	require.NoError(t, cmd.Start())
	running := func() bool { return exec.Command("pgrep", "-f", "dials.test.*"+mark).Run() == nil }
	require.Eventually(t, running, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !running() }, 30*time.Second, 100*time.Millisecond)
}
