package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// load gives one scenario of the catalogue.
func load(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	list, err := scenarios.Select([]string{name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// skips says why a job would be skipped, "" if it would not.
func skips(t *testing.T, o Options, j Job) string {
	t.Helper()
	p, err := o.Plan(j)
	require.NoError(t, err)
	return p.Skip()
}

func TestJobsAreEveryScenarioWithItsVariants(t *testing.T) {
	jobs, err := Options{Cluster: Virtual}.Jobs([]*scenarios.Scenario{load(t, "healthy-contention"),
		load(t, "late-release")})
	require.NoError(t, err)
	var names []string
	for _, j := range jobs {
		require.False(t, j.AllowBetter)
		names = append(names, j.Name())
	}
	require.Equal(t, []string{"healthy-contention", "healthy-contention, ten keys", "healthy-contention, with fencing " +
		"tokens",
		"late-release", "late-release, without FreshToken"}, names)
}

func TestJobsWithAnotherLockOrWithoutRulesAreScenariosAsTheyStand(t *testing.T) {
	list := []*scenarios.Scenario{load(t, "late-release"), load(t, "half-is-not-majority")}
	for _, o := range []Options{{Cluster: Virtual, Lock: "redsync"},
		{Cluster: Virtual, Without: []string{"Majority", "FreshToken"}}} {
		jobs, err := o.Jobs(list)
		require.NoError(t, err)
		require.Len(t, jobs, 2)
		for _, j := range jobs {
			require.True(t, j.AllowBetter, "no worse than the reference is as expected")
			require.Empty(t, j.Variant)
			p, err := o.Plan(j)
			require.NoError(t, err)
			require.Equal(t, history.Holds, p.Expect[checker.MutualExclusion])
			require.Equal(t, o.Without, p.Without)
			if o.Lock != "" {
				require.Equal(t, o.Lock, p.Lock.Name)
			}
		}
	}
}

func TestJobsOnANumberOfServers(t *testing.T) {
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
		jobs, err := Options{Cluster: Virtual, Nodes: c.nodes}.Jobs([]*scenarios.Scenario{load(t, c.scenario)})
		require.NoError(t, err)
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

// What --lock and --without are for: the trials differ where the lock is worse.
func TestAWorseLockDiffers(t *testing.T) {
	for _, c := range []struct {
		scenario string
		o        Options
		want     Outcome
	}{
		{"late-release", Options{Lock: "redsync"}, Differs},
		{"late-release", Options{Without: []string{"FreshToken"}}, Differs},
		{"late-release", Options{Without: []string{"RetryJitter"}}, AsExpected},
		{"half-is-not-majority", Options{Without: []string{"Majority"}}, Differs},
		{"healthy-contention", Options{Lock: "redsync"}, AsExpected},
	} {
		c.o.Cluster, c.o.Seed = Virtual, 1
		jobs, err := c.o.Jobs([]*scenarios.Scenario{load(t, c.scenario)})
		require.NoError(t, err)
		trials, err := Run(t.Context(), jobs, c.o, func(Result) {})
		require.NoError(t, err)
		standing, why := trials[0].Outcome()
		require.Equal(t, c.want, standing, "%s with %+v: %s", c.scenario, c.o, why)
		require.Equal(t, c.o.Without, trials[0].Without)
	}
}

// Asked to do without a rule of the reference, the whole catalogue runs where
// the lock has rules, and skips the rest.
func TestALockWithoutRulesIsSkippedWhereOneIsToBeOff(t *testing.T) {
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

// A rule that no scenario's own lock has would change nothing, and say nothing of it.
func TestARuleThatNoLockHasIsRefused(t *testing.T) {
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
	why := skips(t, o, jobs[0])
	require.Empty(t, why)
	why = skips(t, o, jobs[1])
	require.Equal(t, "redlock has no restart guard to switch off: --lock redlock-guarded has one", why)

	o.Lock = locks.Guarded
	_, err = o.Jobs(list)
	require.NoError(t, err)
}

// Variants whose slugs are alike do not write over each other's histories, and
// have the same folders whatever else is run.
func TestRowsWithLikeSlugsHaveFoldersOfTheirOwn(t *testing.T) {
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
