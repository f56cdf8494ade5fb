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

// inModule returns a function that runs go in another module of this repository and returns its output.
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

// The module tests locks on go-redis 9 and 8, rueidis and redigo, two libraries, and five locks typical of services,
// whose summaries are golden files. The sixth is in another language: TestAPythonLock.
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

// The league's adapters compile, the tests of its page pass, and the reference passes a scenario. The libraries take
// minutes to build the first time; `make league` runs them all.
func TestTheLeagueBuilds(t *testing.T) {
	run := inModule(t, "league")
	run("vet", "./...")
	run("test", "./page")
	out := run("test", "-v", "-count=1", "-run", "TestLeague/reference$", ".", "-scenarios", "late-release")
	require.Contains(t, out, "--- PASS: TestLeague/reference/late-release (")
}

func TestDependencies_ContainNoDockerClient(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "example.org/lockproof/harness/locktest").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "example.org/lockproof/harness/cluster/local")
	for _, name := range packages {
		require.NotContains(t, name, "docker")
		require.NotContains(t, name, "opentelemetry")
	}
}
