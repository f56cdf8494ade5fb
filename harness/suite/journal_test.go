package suite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
			trials, err := Run(context.Background(), []Job{{Scenario: list[0]}}, o, func(Trial) {})
			require.NoError(t, err)
			events := readFile(t, o, trials[0])

			for _, ordered := range []string{Virtual, Local} {
				o := Options{Cluster: ordered, Out: t.TempDir()}
				j, err := o.journal(Job{Scenario: list[0]}, 0)
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
				h, err := checker.Read(source)
				require.NoError(t, err)
				verdict, err := h.Verdict()
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
	o := Options{Cluster: Local, Out: t.TempDir()}
	j, err := o.journal(plain("late-set"), 0)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(j.name(), "in the way"), 0o755))
	j.record(history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}})
	require.Error(t, j.end())

	left, err := os.ReadDir(filepath.Dir(j.name()))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A history is written to no file that a link names, nor into a folder elsewhere.
func TestAHistoryFollowsNoLinks(t *testing.T) {
	header := history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}}
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o644))

	o := Options{Cluster: Local, Out: t.TempDir()}
	for _, name := range []string{"history.jsonl", "history.jsonl" + Unborn} {
		trial := filepath.Join(o.Out, "trials", "late-set", "000")
		require.NoError(t, os.MkdirAll(trial, 0o755))
		require.NoError(t, os.Symlink(precious, filepath.Join(trial, name)))
		j, err := o.journal(plain("late-set"), 0)
		require.NoError(t, err)
		j.record(header)
		require.NoError(t, j.end())
		info, err := os.Lstat(j.name())
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
		require.NoFileExists(t, j.name()+Unborn)
	}

	require.NoError(t, os.RemoveAll(filepath.Join(o.Out, "trials")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(o.Out, "trials")))
	j, err := o.journal(plain("late-set"), 0)
	require.NoError(t, err)
	j.record(header)
	require.ErrorContains(t, j.end(), "written to none that a link leads to")
	require.NoError(t, os.MkdirAll(filepath.Join(elsewhere, "late-set", "000"), 0o755))
	there := filepath.Join(elsewhere, "late-set", "000", "history.jsonl")
	require.NoError(t, os.WriteFile(there, []byte("another's"), 0o644))
	_, err = o.journal(plain("late-set"), 0)
	require.ErrorContains(t, err, "written to none that a link leads to")
	require.FileExists(t, there)
	require.NoError(t, os.RemoveAll(filepath.Join(elsewhere, "late-set")))

	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Len(t, left, 1)
	data, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
}

// Its first lines reach a file that has not got its name yet.
func TestAHistoryIsNamedWithItsFirstLines(t *testing.T) {
	o := Options{Cluster: Local, Out: t.TempDir()}
	j, err := o.journal(plain("late-set"), 0)
	require.NoError(t, err)
	require.NoFileExists(t, j.name())
	j.record(history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}})
	lines, err := os.ReadFile(j.name())
	require.NoError(t, err)
	require.Contains(t, string(lines), `"type":"header"`)
	require.NoFileExists(t, j.name()+Unborn)
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

// Variants whose slugs are alike do not write over each other's histories, and
// have the same folders whatever else is run.
func TestRowsWithLikeSlugsHaveFoldersOfTheirOwn(t *testing.T) {
	s := plain("a").Scenario
	folders := func() (names []string) {
		for _, v := range s.Variants {
			names = append(names, Job{Scenario: s, Variant: v.Name}.folder())
		}
		return names
	}
	for _, name := range []string{"a b", "a-b", "A B", "a b 2", "+", "-", "c"} {
		s.Variants = append(s.Variants, scenarios.Variant{Name: name})
	}
	require.Equal(t, "a", Job{Scenario: s}.folder())
	require.Equal(t, []string{"a--a-b", "a--a-b~2", "a--a-b~3", "a--a-b-2", "a--", "a--~2", "a--c"}, folders())

	rapid.Check(t, func(t *rapid.T) {
		s.Variants = nil
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching(`[abAB ~2+-]{1,4}`), rapid.ID[string]).Draw(t, "names") {
			s.Variants = append(s.Variants, scenarios.Variant{Name: name})
		}
		found := map[string]bool{}
		for _, folder := range folders() {
			require.False(t, found[strings.ToLower(folder)], folder)
			found[strings.ToLower(folder)] = true
		}
	})
}

// Each of these rows has its own history on disk when the run is over.
func TestLikeSlugsKeepBothHistories(t *testing.T) {
	list, err := scenarios.Select([]string{"testdata/slug.yaml"})
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Trials: 1, Seed: 1, Out: t.TempDir()}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	trials, err := Run(context.Background(), jobs, o, func(Trial) {})
	require.NoError(t, err)
	require.Len(t, trials, 3)
	for _, trial := range trials {
		require.Equal(t, trial.Variant, readFile(t, o, trial)[0].Header.Variant)
	}
}

func TestTooManyEventsDoNotComeWithTheTrial(t *testing.T) {
	j, err := Options{Cluster: Virtual}.journal(plain("flushall"), 0)
	require.NoError(t, err)
	for range kept {
		j.record(history.Event{Type: history.TypeNote})
	}
	require.Len(t, j.few(), kept)
	j.record(history.Event{Type: history.TypeNote})
	require.Nil(t, j.few())
}
