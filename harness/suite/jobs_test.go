package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

func load(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	list, err := scenarios.Select([]string{name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// skips returns why a job would be skipped, "" if it would not.
func skips(t *testing.T, o Options, j Job) string {
	t.Helper()
	p, err := o.Plan(j)
	require.NoError(t, err)
	return p.Skip()
}

func TestJobs_Default_ListsScenariosWithVariants(t *testing.T) {
	var names []string
	for _, j := range jobsOf(t, Options{Cluster: Virtual}, "healthy-contention", "late-release") {
		require.False(t, j.AllowBetter)
		names = append(names, j.Name())
	}
	require.Equal(t, []string{"healthy-contention", "healthy-contention, ten keys", "healthy-contention, with fencing " +
		"tokens",
		"late-release", "late-release, without FreshToken"}, names)
}

func TestJobs_AnotherLockOrWithoutRules_ListsScenariosOnly(t *testing.T) {
	list := []*scenarios.Scenario{load(t, "late-release"), load(t, "half-is-not-majority")}
	for lock, o := range map[string]Options{"redsync": {Cluster: Virtual, Lock: "redsync"},
		"redlock": {Cluster: Virtual, Without: []string{"Majority", "FreshToken"}}} {
		jobs, err := o.Jobs(list)
		require.NoError(t, err)
		require.Len(t, jobs, 2)
		for i, j := range jobs {
			require.Equal(t, Job{Scenario: list[i], AllowBetter: true, Lock: o.Lock, Without: o.Without}, j,
				"no worse than the reference is as expected")
			p, err := o.Plan(j)
			require.NoError(t, err)
			require.Equal(t, []any{lock, o.Without}, []any{p.Lock.Name, p.Without})
			row := o.Row(j)
			require.Equal(t, []any{lock, o.Without}, []any{row.Lock, row.Without}, "the results say so")
			require.Equal(t, history.Holds, row.Expect[checker.MutualExclusion])
		}
	}
}

func TestJobs_NumberOfServers_UsesForms(t *testing.T) {
	for _, c := range []struct {
		scenario string
		nodes    int
		variant  string
		unfit    string
		servers  int
	}{
		{"late-release", 5, "", "", 5},
		{"late-release", 3, "", "", 3},
		{"client-pause", 1, "on one node", "", 5},
		{"minority-down", 1, "", "the situation needs 5 servers, and has no form on 1", 5},
		{"failover-lock", 3, "", "the situation needs one server alone, and has no form on 3", 1},
	} {
		jobs := jobsOf(t, Options{Cluster: Virtual, Nodes: c.nodes}, c.scenario)
		require.Len(t, jobs, 1)
		require.Equal(t, c.variant, jobs[0].Variant, c)
		require.Equal(t, c.unfit, jobs[0].Unfit, c)
		require.Len(t, jobs[0].Scenario.Nodes, c.servers, c)
	}
	for says, o := range map[string]Options{
		"--nodes 2: give 1, 3 or 5":                         {Cluster: Virtual, Nodes: 2},
		"--nodes 5: the lock single is on one server alone": {Cluster: Virtual, Nodes: 5, Lock: "single"},
	} {
		_, err := o.Jobs(nil)
		require.EqualError(t, err, says)
	}
}

// The rest of the catalogue, whose locks have rules, runs.
func TestJobs_RuleOff_SkipsLocksWithoutRules(t *testing.T) {
	list, err := scenarios.Catalogue()
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Without: []string{"Majority"}}
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	skipped := 0
	for _, j := range jobs {
		why := skips(t, o, j)
		name := j.Scenario.Lock.Name
		if (name == "single" || name == "single-primary") && why == name+
			" has no rules to switch off: --lock redlock has them" {
			skipped++
		} else {
			require.NotContains(t, why, "no rules", j.Name())
		}
	}
	require.Equal(t, 8, skipped)
}

// Such a run would be an unchanged one without a warning.
func TestJobs_RuleOfNoLock_Fails(t *testing.T) {
	list, err := scenarios.Catalogue()
	require.NoError(t, err)
	o := Options{Cluster: Virtual, Without: []string{"RestartGuard"}}
	_, err = o.Jobs(list)
	require.ErrorContains(t, err, "--without RestartGuard: ")
	require.ErrorContains(t, err, "--lock redlock-guarded has one")

	guarded := *list[0]
	guarded.Lock.Name = locks.Guarded
	jobs, err := o.Jobs([]*scenarios.Scenario{&guarded, list[0]})
	require.NoError(t, err, "one of them has it")
	require.Empty(t, skips(t, o, jobs[0]))
	require.Equal(t, "redlock has no restart guard to switch off: --lock redlock-guarded has one", skips(t, o, jobs[1]))

	o.Lock = locks.Guarded
	_, err = o.Jobs(list)
	require.NoError(t, err)
}

// The folders do not depend on the other rows of the run.
func TestFolderOf_EqualSlugs_DistinctFolders(t *testing.T) {
	s := plain("a").Scenario
	folders := func() (names []string) {
		for _, v := range s.Variants {
			names = append(names, folderOf(Job{Scenario: s, Variant: v.Name}))
		}
		return names
	}
	for _, name := range []string{"a b", "a-b", "A B", "a b 2", "+", "-", "c"} {
		s.Variants = append(s.Variants, scenarios.Variant{Name: name})
	}
	require.Equal(t, "a", folderOf(Job{Scenario: s}))
	require.Equal(t, []string{"a--a-b", "a--a-b~2", "a--a-b~3", "a--a-b-2", "a--", "a--~2", "a--c"}, folders())

	rapid.Check(t, func(t *rapid.T) {
		s.Variants = nil
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching(`[abAB ~2+-]{1,4}`), rapid.ID[string]).Draw(t,
			"names") {
			s.Variants = append(s.Variants, scenarios.Variant{Name: name})
		}
		found := map[string]bool{}
		for _, folder := range folders() {
			require.False(t, found[strings.ToLower(folder)], folder)
			found[strings.ToLower(folder)] = true
		}
	})
}

func names(jobs []Job) []string {
	list := make([]string, len(jobs))
	for i, j := range jobs {
		list[i] = j.Name()
	}
	return list
}

func paths(tasks []task) (all []string) {
	for _, t := range tasks {
		all = append(all, t.Path)
	}
	return all
}

// Every trial is in exactly one slice, in the suite's order, and each slice has a trial to run.
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
		place := map[string]int{}
		for i, path := range paths(whole) {
			place[path] = i
		}
		count := rapid.IntRange(1, 60).Draw(rt, "slices")
		var union []string
		for i := range count {
			o.Slice = Slice{i + 1, count}
			part, err := o.tasks(jobs)
			if err != nil {
				require.ErrorContains(rt, err, "cannot be split")
				rt.Skip("too many rows are skipped on " + o.Cluster)
			}
			require.True(rt, slices.IsSortedFunc(paths(part), func(a, b string) int { return place[a] - place[b] }))
			union = append(union, paths(part)...)
			require.True(rt, slices.ContainsFunc(part, func(t task) bool { return t.Result.Skipped == "" }),
				"a slice with nothing to run")
		}
		require.ElementsMatch(rt, paths(whole), union)
	})
}

func TestSlices_MoreThanTrials_Fails(t *testing.T) {
	o := Options{Cluster: Virtual, Trials: 1}
	jobs := jobsOf(t, o, "flushall")
	o.Slice = Slice{1, 2}
	_, err := o.Planned(jobs)
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

func TestFingerprint_CoversRowsAndContents(t *testing.T) {
	of := func(change func([]Job) []Job) string {
		sum, err := Fingerprint(change(jobsOf(t, Options{Cluster: Virtual}, "flushall", "late-release")))
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
