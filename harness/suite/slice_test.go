package suite

import (
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

// paths are those of trials' histories, each its own.
func paths(tasks []task) (all []string) {
	for _, t := range tasks {
		all = append(all, t.Path)
	}
	return all
}

// Every trial is in exactly one slice, in the suite's order, and each slice has something to run.
func TestSlices_ShareOutTheWhole(t *testing.T) {
	all := map[string][]Job{}
	for _, kind := range cluster.Names() {
		all[kind] = catalogue(t, kind)
	}
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Cluster: rapid.SampledFrom(cluster.Names()).Draw(rt, "cluster"), Trials: rapid.IntRange(1, 7).Draw(rt,
			"trials")}
		jobs := all[o.Cluster]
		from := rapid.IntRange(0, len(jobs)-20).Draw(rt, "from")
		jobs = jobs[from : from+rapid.IntRange(20, len(jobs)-from).Draw(rt, "rows")]
		whole, err := o.tasks(jobs)
		require.NoError(rt, err)
		count := rapid.IntRange(1, 60).Draw(rt, "slices")
		var union []string
		for i := range count {
			o.Slice = Slice{i + 1, count}
			part, err := o.tasks(jobs)
			if err != nil {
				require.ErrorContains(rt, err, "cannot be split")
				rt.Skip("too many rows are skipped on " + o.Cluster)
			}
			require.True(rt, slices.IsSortedFunc(part, task.compare))
			union = append(union, paths(part)...)
			require.True(rt, slices.ContainsFunc(part, func(t task) bool { return t.Result.Skipped == "" }),
				"a slice with nothing to run")
		}
		require.ElementsMatch(rt, paths(whole), union)
	})
}

func TestMoreSlicesThanTrialsAreRefused(t *testing.T) {
	list, err := scenarios.Select([]string{"flushall"})
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Trials: 1}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	o.Slice = Slice{1, 2}
	_, err = o.Planned(jobs)
	require.EqualError(t, err, "trials to run: 1, which cannot be split into 2 slices: ask for more --trials, or for "+
		"fewer slices")
	o.Slice = Slice{1, 1}
	planned, err := o.Planned(jobs)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"flushall": 1}, planned)
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
		"": "for example 17/100", "2": "for example 17/100", "2/": "for example 17/100", "-1/4": "for example 17/100",
		"1/4/2": "for example 17/100", "1 /4": "for example 17/100",
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
