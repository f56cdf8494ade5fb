//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/explore"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// A search that tested nothing proves nothing.
func TestExplore_NothingTested_IsInconclusive(t *testing.T) {
	said, code := inFolder(t, t.TempDir())("explore", "--property", "fencing", "--schedules", "128")
	require.Equal(t, reports.ExitInconclusive, code, said)
	require.Contains(t, said, "nothing was put to the test")
}

// shownFind shows one find of a search, whose trial is run again with this result.
func shownFind(t *testing.T, dir string, again suite.Result) (said string, err error) {
	t.Helper()
	schedule := &explore.Schedule{TTL: time.Second, Nodes: 1, Clients: 1,
		Steps: []explore.Step{{Step: scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}}}}}
	p := fake(func(suite.Job, int) suite.Result { return again })
	var out bytes.Buffer
	p.out, p.err = &out, &out
	x := &exploreOptions{search: explore.Search{Question: explore.Question{Space: explore.Space{Lock: "single",
		TTL: time.Second}}},
		options: suite.Options{Cluster: suite.Virtual, Trials: 1, Lock: "single", Out: dir}}
	err = p.concludeSearch(t.Context(), x, explore.Tally{Finds: []explore.Find{
		{FindID: explore.FindID{Property: checker.MutualExclusion}, Seed: 7, Drawn: schedule, Shrunk: schedule}}},
		reports.Run{Options: x.options, Named: true})
	return out.String(), err
}

// An earlier search with more finds or schedules is not dropped in silence.
func TestExplore_SearchPastItsBounds_SaysThatItStartsAnew(t *testing.T) {
	x := &exploreOptions{options: suite.Options{Out: t.TempDir()}}
	x.search.Space = explore.Space{Lock: "single", TTL: time.Second}
	require.NoError(t, x.save(explore.Tally{Schedules: 500, Next: 500}))
	for schedules, says := range map[int]string{
		100: "has all that this search asks for: this search starts from the beginning",
		900: "has 500 schedules of this search: it continues with seed 500",
	} {
		p, said := fake(expected), strings.Builder{}
		p.err, x.search.Schedules = &said, schedules
		before, err := p.resumeSearch(x)
		require.NoError(t, err)
		require.Equal(t, schedules > 500, before.Next == 500)
		require.Contains(t, said.String(), says)
	}
}

// Neither a full disk nor a repetition that fails outranks a violation. In real time a find need not recur.
func TestExplore_FindCannotBeShown_StillExitsAsViolated(t *testing.T) {
	const recurs = "The violation that the search found did not recur in this run"
	failed, here, missing := suite.Result{Failure: "n1 did not start"}, t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		dir        string
		again      suite.Result
		said, says string // printed, and of the error
	}{
		"the repetition fails":        {here, failed, "", ""},
		"the disk is full":            {missing, failed, "", "no such file or directory"},
		"it does not recur":           {here, verdict(history.Holds, history.Holds)(suite.Job{}, 0), recurs, ""},
		"the repetition is undecided": {here, verdict(history.Holds, history.Inconclusive)(suite.Job{}, 0), recurs, ""},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := shownFind(t, c.dir, c.again)
			requireExit(t, reports.ExitDiffers, err)
			require.ErrorContains(t, err, c.says)
			require.Contains(t, said, c.said)
		})
	}
}

func TestExplore_ScheduleUndecided_IsInconclusive(t *testing.T) {
	p := fake(expected)
	var out bytes.Buffer
	p.out = &out
	x := &exploreOptions{options: suite.Options{Out: t.TempDir()}}
	err := p.concludeSearch(t.Context(), x, explore.Tally{Schedules: 2, Undecided: "unknown: porcupine did not finish",
		Verdicts: map[string]map[string]int{checker.MutualExclusion: {history.Holds: 1, history.Inconclusive: 1}}},
		reports.Run{})
	requireExit(t, reports.ExitInconclusive, err)
	require.Contains(t, out.String(), "a schedule could not be judged: unknown: porcupine did")
}

// A find that the reference does not survive either, or that has the cause of another, has no account of its own.
func TestExplore_EachFind_HasItsCommand(t *testing.T) {
	limit, dir := verdict(history.Holds, history.Violated)(suite.Job{}, 0), t.TempDir()
	limit.Reference, limit.Repeat = map[string]string{checker.MutualExclusion: history.Violated}, "lockproof run it"
	said, _ := shownFind(t, dir, limit)
	require.Contains(t, said, "reproduce: lockproof run "+
		filepath.Join(dir, "found", "mutual-exclusion-of-single-0.yaml")+" --seed 7")
}

func TestExplore_FindIsReportedAndRepeatable(t *testing.T) {
	dir := t.TempDir()
	lockproof := inFolder(t, dir)
	said, code := lockproof("explore", "--without", "CompareAndDelete", "--property", "mutual-exclusion", "--schedules",
		"256",
		"--enough", "1")
	require.Equal(t, 1, code, said)
	require.Contains(t, said, "key was deleted on")
	found, err := filepath.Glob(filepath.Join(dir, "out", "found", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.FileExists(t, filepath.Join(dir, "out", explore.ResultsFile))
	require.FileExists(t, filepath.Join(dir, "out", "report.html"))

	again, code := lockproof("run", found[0], "--seed", "1", "--out", "again")
	require.Contains(t, again, "as expected", "with the rule on, and off as its variant says")
	require.Equal(t, 0, code, again)

	said, code = lockproof("explore", "--schedules", "64", "--out", "none", "--property", "mutual-exclusion")
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "violated in 0 of ")
}

func TestExplore_Interrupted_Resumes(t *testing.T) {
	needs.Long(t, "it waits for a search in real time")
	out := filepath.Join(t.TempDir(), "out")
	search := start(t, exec.Command(build(t), "explore", "--for", "10m", "--out", out))
	require.Eventually(t, func() bool { _, err := os.Stat(out); return err == nil }, time.Minute, 10*time.Millisecond)
	time.Sleep(2 * time.Second)
	require.NoError(t, search.Process.Signal(syscall.SIGINT))
	said, code := search.end(t)
	require.Equal(t, reports.ExitInconclusive, code, said)
	require.Contains(t, said, "schedules in")
	before, err := explore.Read(out)
	require.NoError(t, err)
	require.Positive(t, before.Tally.Schedules)

	lockproof := inFolder(t, filepath.Dir(out))
	more := before.Tally.Next + 10
	again, code := lockproof("explore", "--schedules", fmt.Sprint(more), "--out", out)
	require.Contains(t, []int{0, reports.ExitDiffers}, code, again)
	require.Contains(t, again, fmt.Sprintf("%s has %d schedules of this search: it continues with seed %d\n", out,
		before.Tally.Schedules, 1+before.Tally.Next))
	after, err := explore.Read(out)
	require.NoError(t, err)
	require.Equal(t, more, after.Tally.Schedules)
	require.Equal(t, more, after.Tally.Next)
}
