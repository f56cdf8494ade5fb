package explore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/scenarios"
)

// What a search has found on the reference turned out to be the checker's mistake, and is
// mended: none of it is violated any more.
func TestWhatWasFoundOnTheReference(t *testing.T) {
	p := pool(t)
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		read, err := scenarios.Load(file)
		require.NoError(t, err)
		for seed := range uint64(3) {
			r := p.Try(t.Context(), suite.Job{Scenario: read}, seed)
			require.Empty(t, r.Failure)
			for _, result := range r.Results {
				require.NotEqual(t, history.Violated, result.Verdict, "%s: %s", file, result.Property)
			}
			require.Equal(t, history.Holds, r.Results[indexOf(t, r, "deadlock-freedom")].Verdict)
		}
	}
}

func indexOf(t *testing.T, r suite.Result, property string) int {
	for i, result := range r.Results {
		if result.Property == property {
			return i
		}
	}
	t.Fatalf("%s was not judged", property)
	return 0
}
