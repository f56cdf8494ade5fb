package locktest_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// inModule runs go in another module of this repository, and gives what it has printed.
func inModule(t *testing.T, folder string) func(args ...string) string {
	needs.Long(t, "it builds and tests another module")
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join("..", "..", folder)
		return cmd.CombinedOutput()
	}
	out, err := run("mod", "download")
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	needs.Check(t, needs.Modules, err)
	return func(args ...string) string {
		out, err := run(args...)
		require.NoError(t, err, "%s", out)
		return string(out)
	}
}

// A module outside tests locks on go-redis, also an old one, rueidis and redigo, and two libraries; and five locks as
// services have them, of which each summary is written down. The sixth is in another language: TestAPythonLock.
func TestTheExampleModule(t *testing.T) {
	out := inModule(t, "examples/locktest")("test", "-v", "-count=1", "./...")
	for _, passed := range []string{
		"--- PASS: TestGoRedis/release-by-plain-del (", "--- PASS: TestRueidis/slow-acquire (",
		"--- PASS: TestRedigo/slow-acquire (", "--- PASS: TestGoRedis8/slow-acquire (",
		"--- PASS: TestRedsync/healthy-contention (", "--- PASS: TestRedislock",
		"--- PASS: TestTextbook (", "--- PASS: TestSloppy (", "--- PASS: TestShared (", "--- PASS: TestRedsyncOnThree (",
		"--- PASS: TestWatchdog (",
	} {
		require.Contains(t, out, passed)
	}
}

// The league's adapters compile, its page is made as its tests say, and its tests find the reference right in a
// scenario. The libraries take minutes to build the first time; `make league` runs them all.
func TestTheLeagueBuilds(t *testing.T) {
	run := inModule(t, "league")
	run("vet", "./...")
	run("test", "./page")
	out := run("test", "-v", "-count=1", "-run", "TestLeague/reference$", ".", "-scenarios", "late-release")
	require.Contains(t, out, "--- PASS: TestLeague/reference/late-release (")
}

// Whoever tests a lock gets no client of a Docker engine into their build.
func TestItBringsNoDockerClient(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "example.org/lockproof/harness/locktest").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "example.org/lockproof/harness/cluster/local")
	for _, name := range packages {
		require.NotContains(t, name, "docker")
		require.NotContains(t, name, "opentelemetry")
	}
}
