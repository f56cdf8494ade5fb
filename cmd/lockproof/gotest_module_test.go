package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/internal/needs"
)

// dials runs lockproof test in the module that dials, and gives what it has printed and its folder of results.
func dials(t *testing.T, args ...string) (said, results string, err error) {
	t.Helper()
	binary := build(t)
	folder := filepath.Join("..", "..", "examples", "dials")
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

// TestGoTest_OneSeedOneHistory: the host names that the lock dials are another in each run, its histories are not.
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

// TestGoTest_TheModuleThatDials has a lock that dials by itself: as it is, it keeps mutual exclusion in virtual time, and
// its plain DEL is found to break it.
func TestGoTest_TheModuleThatDials(t *testing.T) {
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
