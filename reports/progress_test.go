package reports

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness"
	"lockproof/harness/history"
)

func readProgress(t *testing.T, out string) (*Underway, error) {
	t.Helper()
	file, err := os.Open(filepath.Join(out, ProgressFile))
	require.NoError(t, err)
	defer file.Close()
	return ReadProgress(file)
}

func TestProgress(t *testing.T) {
	run := Run{Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Planned: 3,
		Options: harness.Options{Out: filepath.Join(t.TempDir(), "new"), Cluster: "virtual", Trials: 3}}
	p, err := NewProgress(run)
	require.NoError(t, err)
	p.Observe(trial("flushall", "", 1, history.Violated, history.Violated))
	p.Observe(trial("flushall", "", 2, history.Violated, history.Holds))

	u, err := readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.True(t, u.Alive)
	require.Equal(t, 3, u.Planned)
	require.Equal(t, run.Started, u.Started)
	require.Equal(t, "virtual", u.Options.Cluster)
	require.Equal(t, []FinishedTrial{
		{Scenario: "flushall", Trial: 1, Standing: harness.AsExpected, Verdicts: map[string]string{history.MutualExclusion: history.Violated}},
		{Scenario: "flushall", Trial: 2, Standing: harness.Differs, Why: "mutual-exclusion: expected violated, got holds",
			Verdicts: map[string]string{history.MutualExclusion: history.Holds}},
	}, u.Done)

	_, err = NewProgress(run)
	require.ErrorIs(t, err, ErrBusy)

	p.file.Close() // as when the harness is killed
	u, err = readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.False(t, u.Alive)
	require.Len(t, u.Done, 2)

	again, err := NewProgress(run)
	require.NoError(t, err)
	u, err = readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.Empty(t, u.Done)
	require.NoError(t, again.End())
	require.NoFileExists(t, filepath.Join(run.Options.Out, ProgressFile))
}

func TestBadProgress(t *testing.T) {
	const begun = `{"begun":{"planned":2}}` + "\n"
	for text, want := range map[string]string{
		"":                             "progress.jsonl:1",
		"{":                            "progress.jsonl:1",
		"{}\n":                         "progress.jsonl:1: this is not a line",
		begun + "[]\n":                 "progress.jsonl:2",
		begun + begun:                  "progress.jsonl:2: this is not a line",
		begun + `{"trial":{"scenario"`: "", // being written
		begun:                          "",
	} {
		out := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(out, ProgressFile), []byte(text), 0o644))
		_, err := readProgress(t, out)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}

// Any text is read or refused.
func FuzzProgress(f *testing.F) {
	f.Add(`{"begun":{"planned":2}}` + "\n" + `{"trial":{"scenario":"x"}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), ProgressFile)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		u, err := ReadProgress(file)
		require.True(t, (u == nil) == (err != nil))
	})
}
