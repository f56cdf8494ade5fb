package reports

import (
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

const ms = int64(time.Millisecond)

// trial makes a trial of the fixture with one property judged.
func trial(scenario, variant string, number int, expected, got string) suite.Result {
	return suite.Result{
		Scenario: scenario, Variant: variant, Cluster: "virtual", Trial: number, Seed: 7, Lock: "redlock",
		Expect:  map[string]string{checker.MutualExclusion: expected},
		Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: got}},
		Elapsed: 40 * time.Millisecond, Simulated: 3 * time.Second, Attempts: 1,
	}
}

// overlap is the violation in the fixture's history, half.jsonl.
func overlap() checker.Violation {
	return checker.Violation{
		Key: "k1", From: 40 * ms, Until: 900 * ms, Processes: []string{"c1", "c2"},
		What: "c1 and c2 both held k1 for 860 ms, from 40 ms to 900 ms.",
		Facts: []checker.Fact{{Time: 30 * ms, Process: "c2", Event: 9, What: "two of four nodes were enough for c2, and " +
			"two for c1"}},
		Leases: []checker.Lease{
			{Client: "c1", ID: 1, Key: "k1", Token: "t1", Asked: 5 * ms, From: 10 * ms, Until: 900 * ms, Ended: "deadline"},
			{Client: "c2", ID: 1, Key: "k1", Token: "t2", Asked: 30 * ms, From: 40 * ms, Until: 930 * ms, Ended: "deadline"},
		},
	}
}

// fixture has rows of every standing, and text that would be markup.
func fixture() *Report {
	differs := trial("half-is-not-majority", "without Majority", 2, history.Holds, history.Violated)
	differs.Results[0].Violations = []checker.Violation{overlap(), overlap()}
	differs.History = "half.jsonl"
	silent := trial("flushall", "", 1, history.Violated, history.Holds)
	unnamed := trial("<b>|`x`|</b> @you #1 https://example.org", "", 1, history.Holds, history.Holds)
	unnamed.Results = append(unnamed.Results, checker.Result{
		Property: checker.ProtectedData, Verdict: history.Violated,
		Violations: []checker.Violation{{Key: "<k>", From: 1, Until: 2, What: "1. the *write* of c1 | <img src=x> was " +
			"lost\x1b[31m"}},
	})
	undecided := trial("hung-node", "", 1, history.Holds, history.Inconclusive)
	undecided.Results[0].Reason = "vacuous: 1 of 2 grants"
	skipped := suite.Result{Scenario: "disk-full", Cluster: "virtual", Lock: "redlock",
		Skipped: "needs a disk that can be full, which the virtual cluster does not have: use --on local"}
	failed := suite.Result{Scenario: "eviction", Cluster: "local", Trial: 1, Seed: 7, Lock: "redlock",
		Failure: "n3 did not start: address already in use", Elapsed: 2 * time.Second}
	better := trial("client-pause", "", 1, history.Violated, history.Holds)
	better.AllowBetter, better.Lock = true, "redsync"
	return New([]suite.Result{
		trial("half-is-not-majority", "", 1, history.Holds, history.Holds),
		trial("half-is-not-majority", "", 2, history.Holds, history.Holds),
		trial("half-is-not-majority", "without Majority", 1, history.Holds, history.Holds),
		differs, silent, unnamed, undecided, skipped, failed, better,
	}, Run{
		Version: "v0.1.0", Go: "go1.26.8", Planned: 10, Elapsed: 2400 * time.Millisecond,
		Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Options: suite.Options{Cluster: "virtual", Trials: 2, Seed: 7, Out: "testdata"},
	})
}
