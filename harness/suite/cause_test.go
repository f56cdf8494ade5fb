package suite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
)

// A trial averts a violation only if it was run and judged to its end.
func TestJudged_UnknownIsNotAverted(t *testing.T) {
	result := func(verdict string, why checker.Cause, unmet string) Result {
		r := checker.Result{Property: checker.MutualExclusion, Verdict: verdict, Cause: why, Unmet: unmet}
		if verdict == history.Violated {
			r.Violations = []checker.Violation{{From: 7}}
		}
		return Result{Results: []checker.Result{r}}
	}
	failed := result(history.Holds, "", "")
	failed.Failure = "the script could not go on"
	vacuous := cause.Judged{Verdict: history.Inconclusive}
	for name, tt := range map[string]struct {
		trial Result
		want  cause.Judged
	}{
		"violated":       {result(history.Violated, "", ""), cause.Judged{Verdict: history.Violated, At: 7}},
		"holds":          {result(history.Holds, "", ""), cause.Judged{Verdict: history.Holds}},
		"did not occur":  {result(history.Inconclusive, checker.Vacuous, ""), vacuous},
		"stopped early":  {result(history.Inconclusive, checker.Vacuous, "c1 failed"), cause.Judged{}},
		"oracle gave up": {result(history.Inconclusive, checker.Unknown, ""), cause.Judged{}},
		"contradicted":   {result(history.Inconclusive, checker.Contradicted, ""), cause.Judged{}},
		"interrupted":    {result(history.Inconclusive, checker.Unfinished, ""), cause.Judged{}},
		"failed":         {failed, cause.Judged{}},
		"skipped":        {Result{Skipped: "no"}, cause.Judged{}},
	} {
		got := judged(tt.trial, checker.MutualExclusion)
		got.AsExpected = false
		require.Equal(t, tt.want, got, name)
	}
	for verdict, want := range map[string]bool{history.Holds: true, history.Violated: false, history.Inconclusive: false} {
		trial := result(verdict, "", "")
		trial.Expect = map[string]string{checker.MutualExclusion: history.Holds}
		require.Equal(t, want, judged(trial, checker.DeadlockFreedom).AsExpected, "the other property: %s", verdict)
	}
}

// The story of a run on real servers has its own times.
func TestExplain_PointOfNoReturnOfVirtualTime_IsNotInTheStoryOfARealRun(t *testing.T) {
	for _, virtual := range []bool{false, true} {
		trial := Result{Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: history.Violated,
			Violations: []checker.Violation{{}}}}}
		trial.Explain(cause.Cause{Property: checker.MutualExclusion, PointOfNoReturn: new(int64(7)), Virtual: virtual})
		require.Equal(t, virtual, trial.Results[0].Violations[0].PointOfNoReturn == nil)
		require.NotNil(t, trial.CauseOf(checker.MutualExclusion).PointOfNoReturn, "the cause's sentence says which run")
	}
}

// Without the fault, the script must not fail at a step that ends it, or at one that needs a lease which a client gets
// only by the fault.
func TestPoolCause_LaterStepsDependOnTheFault_IsShown(t *testing.T) {
	children := &Children{}
	t.Cleanup(children.Close)
	o := Options{Cluster: Virtual}
	pool, err := children.Pool(o)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"restart-without-persistence": "without the kill of n3: holds, 5 of 5 seeds",
		"starved-watchdog":            "without the late timers of c1: not violated, 5 of 5 seeds",
	} {
		jobs := jobsOf(t, o, name)
		job := jobs[min(1, len(jobs)-1)] // the variant whose watchdog tells it
		found, err := pool.Cause(t.Context(), job, 1, checker.MutualExclusion)
		require.NoError(t, err)
		require.True(t, found.Found(), found.Sentence())
		require.Equal(t, want, found.Experiments[0].String())
	}
}
