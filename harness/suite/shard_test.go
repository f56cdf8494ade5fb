package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lockproof/harness/cluster/kinds"
	"lockproof/scenarios"
)

func names(jobs []Job) []string {
	list := make([]string, len(jobs))
	for i, j := range jobs {
		list[i] = j.Name()
	}
	return list
}

// Every row is in exactly one shard, in the suite's order, and no shard has
// more to do than another by more than one row.
func TestShardsShareOutTheWhole(t *testing.T) {
	all := map[string][]Job{}
	for _, kind := range kinds.Names() {
		all[kind] = catalogue(t, kind)
	}
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Cluster: rapid.SampledFrom(kinds.Names()).Draw(rt, "cluster")}
		jobs := slices.Clone(all[o.Cluster])
		from := rapid.IntRange(0, len(jobs)-20).Draw(rt, "from")
		jobs = jobs[from : from+rapid.IntRange(20, len(jobs)-from).Draw(rt, "rows")]
		count := rapid.IntRange(1, 8).Draw(rt, "shards")
		whole := names(jobs)
		var union []string
		var loads []time.Duration
		var longest time.Duration
		for i := range count {
			part, err := o.Shard(jobs, Shard{i + 1, count})
			if err != nil {
				rt.Skip("too many rows are skipped on " + o.Cluster)
			}
			again, err := o.Shard(jobs, Shard{i + 1, count})
			require.NoError(rt, err)
			require.Equal(rt, names(part), names(again))
			require.True(rt, slices.IsSortedFunc(names(part), func(a, b string) int {
				return slices.Index(whole, a) - slices.Index(whole, b)
			}))
			union = append(union, names(part)...)
			var load time.Duration
			for _, j := range part {
				p, err := o.settle(j)
				require.NoError(rt, err)
				if p.Skip() == "" {
					load += length(p)
					longest = max(longest, length(p))
				}
			}
			require.Positive(rt, load, "a shard with nothing to run")
			loads = append(loads, load)
		}
		require.ElementsMatch(rt, whole, union)
		require.LessOrEqual(rt, slices.Max(loads)-slices.Min(loads), longest)
	})
}

// A trial is the same, its history's verdicts included, in whichever shard.
func TestAShardRunsTheTrialsOfTheWhole(t *testing.T) {
	list, err := scenarios.Select([]string{"late-release", "half-is-not-majority", "flushall", "aof-*"})
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Trials: 2, Seed: 5}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	whole := trialsOf(t, jobs, o)
	sharded := map[string]Result{}
	for i := range 3 {
		part, err := o.Shard(jobs, Shard{i + 1, 3})
		require.NoError(t, err)
		for name, trial := range trialsOf(t, part, o) {
			require.NotContains(t, sharded, name)
			sharded[name] = trial
		}
	}
	require.Equal(t, whole, sharded)
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
	require.Len(t, found, len(jobs)*o.Trials)
	return found
}

func TestMoreShardsThanRowsAreRefused(t *testing.T) {
	list, err := scenarios.Select([]string{"flushall"})
	require.NoError(t, err)
	o := Options{Cluster: Virtual}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	_, err = o.Shard(jobs, Shard{1, 2})
	require.EqualError(t, err, "a suite with 1 row to run cannot be split into 2 shards")
	part, err := o.Shard(jobs, Shard{1, 1})
	require.NoError(t, err)
	require.Equal(t, jobs, part)
}

func TestParseShard(t *testing.T) {
	good, err := ParseShard("2/4")
	require.NoError(t, err)
	require.Equal(t, Shard{2, 4}, good)
	require.Equal(t, "2/4", good.String())
	for text, says := range map[string]string{
		"": "as in 2/4", "2": "as in 2/4", "2/": "as in 2/4", "-1/4": "as in 2/4", "1/4/2": "as in 2/4", "1 /4": "as in 2/4",
		"0/4": "the shards of 4 are 1/4 to 4/4", "5/4": "the shards of 4 are 1/4 to 4/4",
		"1/0": "from 1 to 1000 shards", "1/1001": "from 1 to 1000 shards", "1/99999": "as in 2/4",
	} {
		_, err := ParseShard(text)
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

func FuzzShardForm(f *testing.F) {
	for _, text := range []string{"2/4", "0/0", "9999/9999", "1/1001", "99999999999/1", "-1/2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShard(text)
		if err == nil {
			require.True(t, 1 <= s.Index && s.Index <= s.Count && s.Count <= MaxShards)
		}
	})
}
