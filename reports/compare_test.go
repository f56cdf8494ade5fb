package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// runOn is a run on a cluster.
func runOn(cluster, server string, trials ...suite.Result) *Report {
	for i := range trials {
		trials[i].Cluster, trials[i].Server = cluster, server
	}
	return New(trials, Run{Version: "v0.1.0", Planned: len(trials),
		Options: suite.Options{Cluster: cluster, Trials: 1, Seed: 7, Out: "out/" + cluster}})
}

// series returns trials of one scenario; some of them violate it.
func series(name string, violated, all int) []suite.Result {
	var trials []suite.Result
	for i := range all {
		got := history.Holds
		if i < violated {
			got = history.Violated
		}
		trials = append(trials, trial(name, "", i, history.Holds, got))
	}
	return trials
}

func agreements(c Comparison) map[string]Agreement {
	found := map[string]Agreement{}
	for _, row := range c.Rows {
		found[row.Name()] = row.Agreement
	}
	return found
}

func TestCompare(t *testing.T) {
	held, broken := history.Holds, history.Violated
	none := suite.Result{Scenario: "a", Skipped: "no disk"}
	lost := suite.Result{Scenario: "a", Failure: "n1 did not start"}
	extra := trial("a", "", 0, held, held)
	extra.Results = append(extra.Results, checker.Result{Property: checker.ProtectedData, Verdict: broken})
	quiet := trial("a", "", 0, held, held)
	quiet.Results = append(quiet.Results, checker.Result{Property: checker.ProtectedData, Verdict: held})
	unsure := trial("a", "", 0, held, held)
	unsure.Results = append(unsure.Results, checker.Result{Property: checker.ProtectedData, Verdict: history.Inconclusive})
	unmeant := trial("a", "", 0, broken, broken)
	unmeant.Results[0].Unmet = "c1's acquire had to fail, and succeeded"
	idle := trial("a", "", 0, held, held)
	idle.Results = append(idle.Results, checker.Result{Property: checker.Fencing, Verdict: history.Inconclusive})
	for _, c := range []struct {
		name        string
		left, right []suite.Result
		want        Agreement
		code        int
	}{
		{"the same", series("a", 0, 1), series("a", 0, 1), Agree, 0},
		{"the same violation", series("a", 1, 1), series("a", 1, 1), Agree, 0},
		{"opposite verdicts of one trial each", series("a", 0, 1), series("a", 1, 1), Disagree, 1},
		{"a violation among many", series("a", 0, 500), series("a", 1, 20), Disagree, 1},
		{"an alarm that does not ring each time", series("a", 500, 500), series("a", 3, 5), Disagree, 1},
		{"rates that may be one", series("a", 490, 500), series("a", 5, 5), Agree, 0},
		{"a property that only one saw violated", []suite.Result{extra}, []suite.Result{quiet}, Disagree, 1},
		{"a property that nobody names", []suite.Result{idle}, series("a", 0, 1), Agree, 0},
		{"one undecided", series("a", 0, 1), []suite.Result{trial("a", "", 0, held, history.Inconclusive)}, Incomplete, 4},
		{"one undecided in some trials", series("a", 0, 2), []suite.Result{trial("a", "", 0, held, held),
			trial("a", "", 1, held, history.Inconclusive)}, Incomplete, 4},
		{"a violation that the scenario does not mean", series("a", 1, 1), []suite.Result{unmeant}, Incomplete, 4},
		{"a violation of what the other did not judge", []suite.Result{extra}, series("a", 0, 1), Incomplete, 4},
		{"a violation of what the other did not decide", []suite.Result{extra}, []suite.Result{unsure}, Incomplete, 4},
		{"nothing judged", []suite.Result{{Scenario: "a"}}, []suite.Result{{Scenario: "a"}}, Incomplete, 4},
		{"one failed", series("a", 0, 1), []suite.Result{lost}, Incomplete, 4},
		{"one lacks it", series("a", 0, 1), series("b", 0, 1), Incomplete, 4},
		{"one skips it, so that nothing is compared", series("a", 0, 1), []suite.Result{none}, Agree, 4},
		{"both skip it", []suite.Result{none}, []suite.Result{none}, Agree, 4},
		{"one of two is skipped", append(series("a", 0, 1), series("b", 0, 1)...), append(series("b", 0, 1), none), Agree, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Compare([]*Report{runOn("virtual", "", c.left...), runOn("local", "", c.right...)})
			require.Equal(t, c.want, agreements(got)["a"])
			require.Equal(t, c.code, got.ExitCode)
		})
	}
}

// The trials that an interrupted run lacks could have had another verdict.
func TestCompare_InterruptedRunWithFewerTrials_IsIncomplete(t *testing.T) {
	whole, cut := runOn("virtual", "", series("a", 0, 4)...), runOn("local", "", series("a", 0, 1)...)
	whole.Options.Trials, cut.Options.Trials = 4, 4
	cut.Interrupted = true
	got := Compare([]*Report{whole, cut})
	require.Equal(t, Incomplete, agreements(got)["a"])
	require.Equal(t, ExitInconclusive, got.ExitCode)
	require.Equal(t, []string{"out/local: interrupted: 1 of 4 trials"}, got.Rows[0].Why)
}

// Both runs lack the same row, which no list shows.
func TestCompare_InterruptedRunsWithTheSameRows_AreUndecided(t *testing.T) {
	whole, cut := runOn("virtual", "", series("a", 0, 1)...), runOn("local", "", series("a", 0, 1)...)
	cut.Interrupted = true
	for _, runs := range [][]*Report{{cut, cut}, {whole, cut}} {
		require.Equal(t, ExitInconclusive, Compare(runs).ExitCode)
	}
}

func TestCompare_Disagreement_NamesRunsAndRates(t *testing.T) {
	got := Compare([]*Report{runOn("virtual", "", series("a", 0, 500)...), runOn("local", "", series("a", 1, 20)...)})
	require.Equal(t, []string{"mutual-exclusion: out/virtual violated in 0 of 500, at most 0.77 % at 95 %; " +
		"out/local violated in 1 of 20, 0.88 % to 24 % at 95 %"}, got.Rows[0].Why)
}

// A run with another lock, or with a rule off, is compared with the unchanged scenario. It has no variants, and nothing
// reports them as missing.
func TestCompare_OtherLock_PairedWithUnchangedScenario(t *testing.T) {
	held, broken := history.Holds, history.Violated
	whole := runOn("virtual", "", trial("a", "", 0, held, held), trial("a", "without Majority", 0, broken, broken),
		trial("b", "",
			0, held, held))
	lenient := func(name string, without []string, got string) suite.Result {
		r := trial(name, "", 0, held, got)
		r.AllowBetter, r.Without = true, without
		return r
	}
	rules := runOn("virtual", "", lenient("a", []string{"Majority"}, broken), lenient("b", []string{"Majority"}, held))
	rules.Options.Without = []string{"Majority"}
	other := runOn("virtual", "", lenient("a", nil, held), lenient("b", nil, broken))
	other.Options.Lock = "redsync"

	got := Compare([]*Report{whole, rules})
	require.Equal(t, map[string]Agreement{"a": Disagree, "b": Agree}, agreements(got))
	require.Equal(t, []int{1, 0}, []int{got.Alone, got.Incomplete})
	require.Contains(t, got.Summary(), "1 variant left out, which one run alone can have")

	got = Compare([]*Report{whole, whole, other})
	require.Equal(t, map[string]Agreement{"a": Agree, "a (without Majority)": Agree, "b": Disagree}, agreements(got))
	require.Equal(t, []int{0, 0}, []int{got.Alone, got.Incomplete}, "two runs have the variant")
}

// comparison has rows of every agreement, and text that would be markup.
func comparison() Comparison {
	wild := "<b>|`x`|</b> @you #1"
	held, broken := history.Holds, history.Violated
	skipped := suite.Result{Scenario: "disk-full", Skipped: "the virtual cluster has no disk; run it with --on local"}
	return Compare([]*Report{
		runOn("virtual", "miniredis 2.40.0", trial("late-release", "", 0, held, held),
			trial("late-release", "without FreshToken", 0, broken, broken), trial("flushall", "", 0, broken, broken),
			skipped, trial(wild, "", 0, held, held), trial("only-here", "", 0, held, held)),
		runOn("local", "Redis 7.0.15", trial("late-release", "", 0, held, held),
			trial("late-release", "without FreshToken", 0, broken, held), trial("flushall", "", 0, broken, broken),
			trial("disk-full", "", 0, held, held), trial(wild, "", 0, held, history.Inconclusive)),
	})
}
