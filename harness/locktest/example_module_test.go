package locktest_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// A module outside tests locks on go-redis, also an old one, rueidis and redigo, and two libraries; and five locks as
// services have them, of which each summary is written down. The sixth is in another language: TestAPythonLock.
func TestTheExampleModule(t *testing.T) {
	needs.Long(t, "it builds and tests another module")
	folder := filepath.Join("..", "..", "examples", "locktest")
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = folder
		return cmd.CombinedOutput()
	}
	out, err := run("mod", "download")
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	needs.Check(t, needs.Modules, err)
	out, err = run("test", "-v", "-count=1", "./...")
	require.NoError(t, err, "%s", out)
	for _, passed := range []string{
		"--- PASS: TestGoRedis/release-by-plain-del (", "--- PASS: TestRueidis/slow-acquire (",
		"--- PASS: TestRedigo/slow-acquire (", "--- PASS: TestGoRedis8/slow-acquire (",
		"--- PASS: TestRedsync/healthy-contention (", "--- PASS: TestRedislock",
		"--- PASS: TestTextbook (", "--- PASS: TestSloppy (", "--- PASS: TestShared (", "--- PASS: TestRedsyncOnThree (",
		"--- PASS: TestWatchdog (",
	} {
		require.Contains(t, string(out), passed)
	}
}
