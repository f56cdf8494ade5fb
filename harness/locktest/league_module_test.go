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

// The league's adapters compile, its page is made as its tests say, and its tests find the reference right in a
// scenario. The libraries take minutes to build the first time; `make league` runs them all.
func TestTheLeagueBuilds(t *testing.T) {
	needs.Long(t, "it builds every library of the league")
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join("..", "..", "league")
		return cmd.CombinedOutput()
	}
	out, err := run("mod", "download")
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	needs.Check(t, needs.Modules, err)
	out, err = run("vet", "./...")
	require.NoError(t, err, "%s", out)
	out, err = run("test", "./page")
	require.NoError(t, err, "%s", out)
	out, err = run("test", "-v", "-count=1", "-run", "TestLeague/reference$", ".", "-scenarios", "late-release")
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestLeague/reference/late-release (")
}
