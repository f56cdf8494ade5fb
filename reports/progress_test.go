package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/input/inputtest"
)

func readProgress(t *testing.T, out string) (*RunInProgress, error) {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(out))
	require.NoError(t, err)
	defer root.Close()
	return ReadProgress(root, filepath.Base(out))
}

// begin takes a run's folder and begins its progress.
func begin(t *testing.T, run Run) (*Folder, *Progress) {
	t.Helper()
	folder, err := OpenFolder(run.Options.Out)
	require.NoError(t, err)
	p, err := folder.Begin(run)
	require.NoError(t, err)
	return folder, p
}

func TestProgress(t *testing.T) {
	run := Run{Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Planned: 3,
		Options: suite.Options{Out: filepath.Join(t.TempDir(), "new"), Cluster: "virtual", Trials: 3}}
	folder, p := begin(t, run)
	p.Observe(trial("flushall", "", 1, history.Violated, history.Violated))
	p.Observe(trial("flushall", "", 2, history.Violated, history.Holds))

	u, err := readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.True(t, u.Alive)
	require.Equal(t, 3, u.Planned)
	require.Equal(t, run.Started, u.Started)
	require.Equal(t, "virtual", u.Options.Cluster)
	require.Equal(t, 2, u.Done)
	text, err := os.ReadFile(filepath.Join(run.Options.Out, ProgressFile))
	require.NoError(t, err)
	require.Contains(t, string(text), `"standing":"differs","why":"mutual-exclusion: expected violated, got holds"`)

	_, err = OpenFolder(run.Options.Out)
	require.ErrorIs(t, err, ErrBusy)

	p.file.Close() // as when the harness is killed
	require.NoError(t, folder.Close())
	u, err = readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.False(t, u.Alive)
	require.Equal(t, 2, u.Done)

	folder, again := begin(t, run)
	u, err = readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.Zero(t, u.Done)
	require.NoError(t, again.End())
	require.NoError(t, folder.Close())
	require.NoFileExists(t, filepath.Join(run.Options.Out, ProgressFile))
}

func TestBadProgress(t *testing.T) {
	const begun = `{"begun":{"planned":2}}` + "\n"
	for text, want := range map[string]string{
		"":                             "progress.jsonl:1",
		"{":                            "progress.jsonl:1",
		"{}\n":                         "progress.jsonl:1: this is not the beginning",
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
	f.Add(`{"begun":{}}` + "\n" + strings.Repeat(`{"trial":{}}`+"\n", 50_000))
	f.Add(`{"begun":{"planned":-1}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		out := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(out, ProgressFile), []byte(text), 0o644))
		var u *RunInProgress
		var err error
		inputtest.Bounded(t, len(text), func() { u, err = readProgress(t, out) })
		require.True(t, (u == nil) == (err != nil))
	})
}
