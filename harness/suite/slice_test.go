package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/scenarios"
)

func names(jobs []Job) []string {
	list := make([]string, len(jobs))
	for i, j := range jobs {
		list[i] = j.Name()
	}
	return list
}

// numbered lists each trial of jobs.
func numbered(jobs []Job, trials int) []string {
	var list []string
	for q := newQueue(jobs, trials); len(q.waiting) > 0; q.waiting = q.waiting[1:] {
		list = append(list, fmt.Sprint(jobs[q.waiting[0].row].Name(), ", ", q.waiting[0].trial))
	}
	return list
}

// Every trial is in exactly one slice, rows are in the suite's order, and each slice
// has something to run.
func TestSlicesShareOutTheWhole(t *testing.T) {
	all := map[string][]Job{}
	for _, kind := range cluster.Names() {
		all[kind] = catalogue(t, kind)
	}
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Cluster: rapid.SampledFrom(cluster.Names()).Draw(rt, "cluster"), Trials: rapid.IntRange(1, 7).Draw(rt, "trials")}
		jobs := slices.Clone(all[o.Cluster])
		from := rapid.IntRange(0, len(jobs)-20).Draw(rt, "from")
		jobs = jobs[from : from+rapid.IntRange(20, len(jobs)-from).Draw(rt, "rows")]
		count := rapid.IntRange(1, 60).Draw(rt, "slices")
		whole := names(jobs)
		var union []string
		planned := 0
		for i := range count {
			part, err := o.Slice(jobs, Slice{i + 1, count})
			if err != nil {
				require.ErrorContains(rt, err, "cannot be split")
				rt.Skip("too many rows are skipped on " + o.Cluster)
			}
			require.True(rt, slices.IsSortedFunc(names(part), func(a, b string) int {
				return slices.Index(whole, a) - slices.Index(whole, b)
			}))
			union = append(union, numbered(part, o.Trials)...)
			planned += o.Planned(part)
			require.True(rt, slices.ContainsFunc(part, func(j Job) bool {
				p, err := o.Plan(j)
				require.NoError(rt, err)
				return p.Skip() == ""
			}), "a slice with nothing to run")
		}
		require.ElementsMatch(rt, numbered(jobs, o.Trials), union)
		require.Equal(rt, o.Planned(jobs), planned)
	})
}

// A trial is the same, its history's verdicts included, in whichever slice.
func TestASliceRunsTheTrialsOfTheWhole(t *testing.T) {
	list, err := scenarios.Select([]string{"late-release", "half-is-not-majority", "flushall", "aof-*"})
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Trials: 3, Seed: 5}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	whole := trialsOf(t, jobs, o)
	sliced := map[string]Result{}
	const count = 10 // more than rows
	for i := range count {
		part, err := o.Slice(jobs, Slice{i + 1, count})
		require.NoError(t, err)
		for name, trial := range trialsOf(t, part, o) {
			require.NotContains(t, sliced, name)
			sliced[name] = trial
		}
	}
	require.Equal(t, whole, sliced)
}

// trialsOf runs jobs, and gives the trials without what they took.
func trialsOf(t *testing.T, jobs []Job, o Options) map[string]Result {
	t.Helper()
	trials, err := Run(context.Background(), jobs, o, func(Result) {})
	require.NoError(t, err)
	found := map[string]Result{}
	for _, trial := range trials {
		trial.Elapsed = 0
		found[fmt.Sprintf("%s, %d", trial.Name(), trial.Trial)] = trial
	}
	require.Len(t, found, o.Planned(jobs))
	return found
}

func TestMoreSlicesThanTrialsAreRefused(t *testing.T) {
	list, err := scenarios.Select([]string{"flushall"})
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Trials: 1}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	_, err = o.Slice(jobs, Slice{1, 2})
	require.EqualError(t, err, "1 trial to run cannot be split into 2 slices: ask for more --trials, or for fewer slices")
	part, err := o.Slice(jobs, Slice{1, 1})
	require.NoError(t, err)
	require.Equal(t, numbered(jobs, o.Trials), numbered(part, o.Trials))
}

func TestParseSlice(t *testing.T) {
	good, err := ParseSlice("17/100")
	require.NoError(t, err)
	require.Equal(t, Slice{17, 100}, good)
	require.Equal(t, "17/100", good.String())
	require.Equal(t, "out/17/x", good.ExpandPath("out/{slice}/x"))
	t.Setenv("SLICE_INDEX", "0")
	t.Setenv("SLICE_COUNT", "")
	fromZero, err := ParseSlice("$SLICE_INDEX/100")
	require.NoError(t, err)
	require.Equal(t, Slice{100, 100}, fromZero, "an engine that counts from 0 has no 100")
	for text, says := range map[string]string{
		"": "for example 17/100", "2": "for example 17/100", "2/": "for example 17/100", "-1/4": "for example 17/100", "1/4/2": "for example 17/100", "1 /4": "for example 17/100",
		"$SLICE_INDEX/${SLICE_COUNT}": "the environment has no SLICE_COUNT", "5/4": "the slices of 4 are 1/4 to 4/4",
		"1/0": "from 1 to 10000 slices", "1/10001": "from 1 to 10000 slices", "1/999999": "for example 17/100",
	} {
		_, err := ParseSlice(text)
		require.ErrorContains(t, err, says, "%q", text)
	}
}

func TestAFingerprintIsOfWhatRuns(t *testing.T) {
	list, err := scenarios.Select([]string{"flushall", "late-release"})
	require.NoError(t, err)
	of := func(change func([]Job) []Job) string {
		jobs, err := Options{Cluster: Virtual}.Jobs(list)
		require.NoError(t, err)
		sum, err := Fingerprint(change(jobs))
		require.NoError(t, err)
		return sum
	}
	same := of(func(j []Job) []Job { return j })
	altered := func(change func(*scenarios.Scenario)) func([]Job) []Job {
		return func(jobs []Job) []Job {
			s := *jobs[0].Scenario
			change(&s)
			jobs[0].Scenario = &s
			return jobs
		}
	}
	require.Equal(t, same, of(altered(func(s *scenarios.Scenario) { s.File = "/elsewhere" })))
	require.NotEqual(t, same, of(altered(func(s *scenarios.Scenario) { s.TTL++ })))
	require.NotEqual(t, same, of(altered(func(s *scenarios.Scenario) { s.Expect = nil })))
	require.NotEqual(t, same, of(func(j []Job) []Job { return j[1:] }))
	require.NotEqual(t, same, of(func(j []Job) []Job { slices.Reverse(j); return j }))
}

func FuzzSliceForm(f *testing.F) {
	for _, text := range []string{"2/4", "0/0", "9999/9999", "1/10001", "99999999999/1", "-1/2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSlice(text)
		if err == nil {
			require.True(t, 1 <= s.Index && s.Index <= s.Count && s.Count <= maxSlices)
		}
	})
}
