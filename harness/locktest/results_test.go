package locktest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// results.json has every row and the histories' paths. A second run replaces it.
func TestResultsVariable_FolderNamed_GetsResults(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(locktest.ResultsVariable, folder)
	for range 2 {
		victim(t, "patient").failed(t, "TestVictims/patient", "hung-node")
	}
	kept := filepath.Join(folder, "TestVictims", "patient")
	text, err := os.ReadFile(filepath.Join(kept, reports.ResultsFile))
	require.NoError(t, err)
	var results reports.Results
	require.NoError(t, json.Unmarshal(text, &results))
	differ := map[string]string{}
	for _, row := range results.Scenarios {
		for i, trial := range row.Trials {
			require.Equal(t, i, trial.Trial)
			if row.Standing == suite.Differs {
				differ[row.Scenario] = trial.History
			}
		}
	}
	require.Len(t, differ, 1)
	require.FileExists(t, filepath.Join(kept, filepath.FromSlash(differ["hung-node"])))
	for _, file := range []string{reports.PageFile, reports.SummaryFile, reports.JUnitFile} {
		require.FileExists(t, filepath.Join(kept, file))
	}
}

func TestSummary_LockNeverGranted_NamesNoServers(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(locktest.ResultsVariable, folder)
	victim(t, "blocking-at-once")
	text, err := os.ReadFile(filepath.Join(folder, "TestVictims", "blocking-at-once", "summary.txt"))
	require.NoError(t, err)
	require.Contains(t, string(text), "TestVictims/blocking-at-once: 0 situations")
}

func TestResultsVariable_FolderOfAnotherProgram_Fails(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(locktest.ResultsVariable, folder)
	theirs := filepath.Join(folder, "TestVictims", "patient", "results.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(theirs), 0o755))
	require.NoError(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	r := victim(t, "patient")
	require.False(t, r.passed)
	r.says(t, locktest.ResultsVariable, "not a folder that Lockproof made")
	text, err := os.ReadFile(theirs)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(text))
}
