package harness

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/scenarios"
)

// A history that is judged from its file, because it is too long for memory,
// gets the verdicts, figures, violations and blames of one that is not.
func TestLongHistoriesAreJudgedFromTheirFiles(t *testing.T) {
	for _, name := range []string{"healthy-contention", "clock-jump-forward", "late-set", "client-pause", "flushall"} {
		t.Run(name, func(t *testing.T) {
			list, err := scenarios.Select([]string{name})
			require.NoError(t, err)
			o := Options{Cluster: Virtual, Trials: 1, Seed: 1, Out: t.TempDir()}
			trials, err := RunSuite(context.Background(), []Job{{Scenario: list[0]}}, o, func(Trial) {})
			require.NoError(t, err)
			events := readFile(t, o, trials[0])

			for _, ordered := range []string{Virtual, Local} {
				o := Options{Cluster: ordered, Out: t.TempDir()}
				j, err := o.journal(&trials[0])
				require.NoError(t, err)
				j.keeps = 10
				for _, e := range events {
					j.record(e)
				}
				require.NoError(t, j.end())
				require.True(t, j.spilled)
				require.Empty(t, j.seen)
				require.Equal(t, trials[0].Simulated, j.length())
				loadBallast()
				source, err := j.source()
				require.NoError(t, err)
				require.Nil(t, ballast.Load(), "the checker needs the memory")
				verdict, err := checker.CheckSource(source)
				require.NoError(t, err)
				require.Equal(t, trials[0].Results, verdict.Results)
				require.Empty(t, j.settle(false))
				require.NoFileExists(t, j.name())
			}
		})
	}
}

// Whenever the harness is killed, a history that has its name has its header:
// here the header cannot be written.
func TestAHistoryHasItsNameOnlyWithItsHeader(t *testing.T) {
	const full = "/dev/full" // a device that takes nothing
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no " + full)
	}
	o := Options{Cluster: Local, Out: t.TempDir()}
	j, err := o.journal(&Trial{Scenario: "late-set"})
	require.NoError(t, err)
	folder := filepath.Dir(j.name())
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.Symlink(full, j.name()+unborn))
	j.record(history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}})
	require.NoFileExists(t, j.name())
	require.ErrorIs(t, j.end(), syscall.ENOSPC)

	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Its first lines reach a file that has not got its name yet.
func TestAHistoryIsNamedWithItsFirstLines(t *testing.T) {
	o := Options{Cluster: Local, Out: t.TempDir()}
	j, err := o.journal(&Trial{Scenario: "late-set"})
	require.NoError(t, err)
	require.NoFileExists(t, j.name())
	j.record(history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}})
	lines, err := os.ReadFile(j.name())
	require.NoError(t, err)
	require.Contains(t, string(lines), `"type":"header"`)
	require.NoFileExists(t, j.name()+unborn)
	require.NoError(t, j.end())
}

// readFile reads the history that a trial has kept.
func readFile(t *testing.T, o Options, trial Trial) []history.Event {
	t.Helper()
	f, err := os.Open(o.Out + "/" + trial.History)
	require.NoError(t, err)
	defer f.Close()
	events, err := history.Read(f)
	require.NoError(t, err)
	return events
}
