package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	experiments "example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/locks/builtin"
)

func result(property, verdict, reason string) checker.Result {
	return checker.Result{Property: property, Verdict: verdict, Reason: reason}
}

// judging is a trial of a scenario that expects one verdict on mutual exclusion.
func judging(expected string, results ...checker.Result) Result {
	return Result{Expect: map[string]string{checker.MutualExclusion: expected}, Results: results}
}

// lenient sets AllowBetter.
func lenient(r Result) Result {
	r.AllowBetter = true
	return r
}

// requireStanding requires a standing, and a part of its reason.
func requireStanding(t *testing.T, trial Result, want Standing, why string) {
	t.Helper()
	standing, reason := trial.Standing()
	require.Equal(t, want, standing, reason)
	require.Contains(t, reason, why)
}

func TestStanding(t *testing.T) {
	const mutex, data = checker.MutualExclusion, checker.ProtectedData
	const holds, violated, inconclusive = history.Holds, history.Violated, history.Inconclusive
	kept, broken := result(mutex, holds, ""), result(mutex, violated, "")
	vacuous := result(mutex, inconclusive, "vacuous: 0 of 2 grants")
	tests := []struct {
		name  string
		trial Result
		want  Standing
		why   string
	}{
		{"holds as named", judging(holds, kept), AsExpected, "mutual-exclusion: holds"},
		{"violated as named", judging(violated, broken), AsExpected, "mutual-exclusion: violated"},
		{"violated though it should hold", judging(holds, broken), Differs,
			"mutual-exclusion: expected holds, got violated"},
		{"an alarm that does not ring", judging(violated, kept), Differs,
			"mutual-exclusion: expected violated, got holds"},
		{"lenient: better than the reference", lenient(judging(violated, kept)), AsExpected,
			"mutual-exclusion: holds, better than the reference's violated"},
		{"lenient: worse than the reference", lenient(judging(holds, broken)), Differs,
			"mutual-exclusion: expected holds, got violated"},
		{"lenient is not better when inconclusive", lenient(judging(violated, vacuous)), Inconclusive,
			"mutual-exclusion: expected violated, got inconclusive: vacuous: 0 of 2 grants"},
		{"inconclusive where it should hold", judging(holds, vacuous), Inconclusive,
			"mutual-exclusion: expected holds, got inconclusive: vacuous: 0 of 2 grants"},
		{"a difference outranks an inconclusive verdict", Result{
			Expect:  map[string]string{mutex: holds, data: holds},
			Results: []checker.Result{vacuous, result(data, violated, "")},
		}, Differs, "protected-data: expected holds, got violated"},
		{"a property that is not named is violated", judging(holds, kept, result(data, violated, "")), Differs,
			"protected-data: violated (must never be, though this scenario does not test it)"},
		{"a property that is not named is inconclusive", judging(holds, kept, result(data, inconclusive, "no writes")),
			AsExpected, "mutual-exclusion: holds"},
		{"a named property has no result", judging(holds), Inconclusive,
			"mutual-exclusion: expected holds, got inconclusive: unfinished: the trial ended without a verdict"},
		{"nothing is named", Result{Results: []checker.Result{kept}}, AsExpected, "no property is violated"},
		{"inconclusive as named", judging(inconclusive, vacuous), AsExpected, "mutual-exclusion: inconclusive"},
		{"violated, but not as the script means to show",
			judging(violated, checker.Result{Property: mutex, Verdict: violated, Unmet: "c1's extend failed"}), Inconclusive,
			"mutual-exclusion: violated, but not as the scenario means to show: c1's extend failed"},
		{"every difference", Result{
			Expect:  map[string]string{mutex: holds, checker.Fencing: holds},
			Results: []checker.Result{result(checker.Fencing, violated, ""), broken},
		}, Differs, "mutual-exclusion: expected holds, got violated; fencing: expected holds, got violated"},
		{"a reference that was not decided has kept nothing", Result{
			Expect:    map[string]string{mutex: holds},
			Reference: map[string]string{mutex: inconclusive},
			Results:   []checker.Result{broken},
		}, Differs, "mutual-exclusion: violated, and the reference of its class was not decided"},
		{"nothing was judged", Result{}, Inconclusive, "no property was judged"},
		{"skipped", Result{Skipped: "no C compiler"}, Skipped, "no C compiler"},
		{"failed", Result{Failure: "n3 did not start", Results: []checker.Result{kept}}, HarnessError, "n3 did not start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			standing, why := tt.trial.Standing()
			require.Equal(t, tt.want, standing)
			require.Equal(t, tt.why, why)
		})
	}
}

func TestJudgements_KeepTheOrderOfProperties(t *testing.T) {
	trial := Result{
		Expect: map[string]string{"zeal": history.Holds, checker.FaultTolerance: history.Holds},
		Results: []checker.Result{
			result("ardour", history.Holds, ""),
			result(checker.FaultTolerance, history.Holds, ""),
			result(checker.MutualExclusion, history.Holds, ""),
		},
	}
	var names []string
	for _, j := range trial.Judgements() {
		names = append(names, j.Property)
	}
	require.Equal(t, []string{checker.MutualExclusion, checker.FaultTolerance, "ardour", "zeal"}, names)
}

func TestJudgements_TrialDidNotRun_AreEmpty(t *testing.T) {
	expect := map[string]string{checker.MutualExclusion: history.Holds}
	require.Empty(t, Result{Skipped: "why", Expect: expect}.Judgements())
	require.Empty(t, Result{Failure: "why", Expect: expect}.Judgements())
}

// The reference runs in virtual time only. For other rows, the expectation is its verdict.
func TestReference_VirtualTimeCannotRunRow_UsesExpectation(t *testing.T) {
	chosen := load(t, "aof-always-rewrite")
	pool := newPool(Options{}, func(context.Context, task) Result {
		t.Error("there is nothing to run")
		return Result{}
	})
	for expected, want := range map[string]Standing{history.Violated: LimitOfClass, history.Holds: Differs, "": Differs} {
		trial := Result{Lock: "single", AllowBetter: true, Expect: map[string]string{checker.MutualExclusion: expected},
			Results: []checker.Result{result(checker.MutualExclusion, history.Violated, "")}}
		row := Job{Scenario: chosen, Variant: chosen.OneNode(), AllowBetter: true}
		trial.compareWithClass(row, func(j Job) Result { return pool.reference(t.Context(), j, 1) })
		requireStanding(t, trial, want, "")
	}
}

// A lock that renews its leases may let another client in where its reference goes on renewing. The lock without
// renewals then shows whether any lock could keep the property.
func TestReference_RenewalsPreventSituation_UsesLockWithoutThem(t *testing.T) {
	chosen := load(t, "delayed-write")
	row := Job{Scenario: chosen, AllowBetter: true}
	under := Result{Lock: builtin.Renewing, AllowBetter: true, Expect: chosen.Expect,
		Results: []checker.Result{result(checker.ProtectedData, history.Violated, "")}}
	for verdict, want := range map[string]Standing{history.Violated: LimitOfClass, history.Holds: Differs} {
		trial := under
		trial.compareWithClass(row, func(j Job) Result {
			if j.Lock == builtin.Renewing {
				return Result{Results: []checker.Result{result(checker.ProtectedData, history.Inconclusive, "")}}
			}
			return Result{Results: []checker.Result{result(checker.ProtectedData, verdict, "")}}
		})
		standing, why := trial.Standing()
		require.Equal(t, want, standing, "without renewals: %s: %s", verdict, why)
	}
}

// A counter that was lost keeps writes out, also those of the rightful holder.
func TestRemedies_FencingTokens_OnlyIfTheyStayInOrder(t *testing.T) {
	chosen := load(t, "pause-after-check")
	violated := []string{checker.MutualExclusion, checker.ProtectedData}
	for verdict, want := range map[string][]string{
		history.Holds: {"a fencing token that the store checks"}, history.Violated: nil, history.Inconclusive: nil,
	} {
		found := remedies(Job{Scenario: chosen, Lock: locks.Reference}, violated, func(j Job) Result {
			if j.Lock != locks.Fenced {
				return Result{}
			}
			return Result{Results: []checker.Result{result(checker.MutualExclusion, history.Violated, ""),
				result(checker.ProtectedData, history.Holds, ""), result(checker.Fencing, verdict, "")}}
		})
		require.Equal(t, want, found, "fencing: %s", verdict)
	}
}

// What breaks another property is no remedy.
func TestRemedies_AnotherPropertyBreaks_NoRemedy(t *testing.T) {
	chosen := load(t, "restart-without-persistence")
	for verdict, want := range map[string][]string{
		history.Holds: {"persistence (appendfsync always)"}, history.Violated: nil,
	} {
		found := remedies(Job{Scenario: chosen, Lock: locks.Reference}, []string{checker.MutualExclusion},
			func(Job) Result {
				return Result{Results: []checker.Result{result(checker.MutualExclusion, history.Holds, ""),
					result(checker.DeadlockFreedom, verdict, "")}}
			})
		require.Equal(t, want, found, "deadlock freedom: %s", verdict)
	}
}

func TestCheckReached_ReferenceIsUndecidedToo_SkipsTheRow(t *testing.T) {
	vacuous := result(checker.MutualExclusion, history.Inconclusive, "vacuous: c2's acquire had to succeed, and failed")
	vacuous.Cause = checker.Vacuous
	contradicted := vacuous
	contradicted.Cause = checker.Contradicted
	holds, expect := result(checker.MutualExclusion, history.Holds, ""),
		map[string]string{checker.MutualExclusion: history.Holds}
	chosen := load(t, "drift-within-margin")
	for name, c := range map[string]struct {
		lock            string
		here, reference checker.Result
		want            Standing
	}{
		"both are vacuous":      {builtin.Renewing, vacuous, vacuous, Skipped},
		"the reference decides": {builtin.Renewing, vacuous, holds, Inconclusive},
		"a contradiction stays": {builtin.Renewing, contradicted, vacuous, Inconclusive},
		"it does not renew":     {locks.Reference, vacuous, vacuous, Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			trial := Result{Lock: c.lock, AllowBetter: true, Expect: expect, Results: []checker.Result{c.here}}
			trial.compareWithClass(Job{Scenario: chosen, AllowBetter: true}, func(Job) Result {
				return Result{Expect: expect, Results: []checker.Result{c.reference}}
			})
			standing, why := trial.Standing()
			require.Equal(t, c.want, standing, why)
		})
	}
}

// A failure has the lock's own error text. A lease lost after its TTL is not a failure.
func TestPreflight_FailedCallsAndRenewals(t *testing.T) {
	at := func(op history.Op, end history.Type, why string) history.Event {
		return history.Event{Op: op, Type: end, Error: why}
	}
	renewal := history.Event{Type: history.TypeReply, Command: &history.Command{Effect: history.EffectExtend}}
	beat := history.Event{Type: history.TypeReply, Process: "c1>n1",
		Command: &history.Command{Key: "alive:k1", Effect: history.EffectSet}}
	write := history.Event{Type: history.TypeReply, Process: "c1>store",
		Command: &history.Command{Key: "value:k1", Effect: history.EffectSet}}
	asked, over, gone := at(history.OpAcquire, history.TypeInvoke, ""), at(history.OpAcquire, history.TypeOK, ""),
		at(history.OpRelease, history.TypeOK, "")
	got := history.Event{Op: history.OpAcquire, Type: history.TypeOK, Validity: 1}
	brief := history.Event{Type: history.TypeReply, Process: "c1>n1",
		Command: &history.Command{Key: "k1", Effect: history.EffectSet, Expiry: 1_000_000, Done: true}}
	tooLate := history.Event{Type: history.TypeReply, Process: "c1>n1",
		Command: &history.Command{Key: "k1", Effect: history.EffectExtend, Expiry: 1_000_000_000}}
	relies := history.Event{Op: history.OpAcquire, Type: history.TypeOK, Validity: 990_000_000}
	for _, c := range []struct {
		name   string
		events []history.Event
		renews bool
		err    string
	}{
		{"a TTL in the wrong unit", []history.Event{asked, brief, relies, tooLate,
			at(history.OpExtend, history.TypeFail, "lost")}, false,
			"was not extended, .*: lost; the lock's key expires before its lease ends.*: " +
				`"k1" expires 1ms after it is set, and its lease is valid for 990ms`},
		{"all goes well", []history.Event{got, gone, got, gone}, false, ""},
		{"a renewal that nobody asked for", []history.Event{got, gone, got, renewal, gone}, true, ""},
		{"an extension that was asked for", []history.Event{got, renewal, gone, got, gone}, false, ""},
		{"a heartbeat beside the key", []history.Event{got, gone, got, beat, beat, gone}, true, ""},
		{"what its client writes to the store", []history.Event{got, gone, got, write, write, gone}, false, ""},
		{"a SET that comes after the majority's", []history.Event{got, beat, gone, asked, got, beat, gone}, false, ""},
		{"no acquire", []history.Event{at(history.OpAcquire, history.TypeFail, "boom")}, false, "was not granted, .*: boom"},
		{"no extension", []history.Event{got, at(history.OpExtend, history.TypeInfo, "boom")}, false,
			"was not extended, .*: boom"},
		{"no release", []history.Event{got, at(history.OpRelease, history.TypeInfo, "boom")}, false,
			"was not released, .*: boom"},
		{"too late a release", []history.Event{got, gone, got, at(history.OpRelease, history.TypeFail, "lost")}, false, ""},
		{"a validity of 0, in the wrong unit", []history.Event{asked, over}, false, "lease is over when it is granted"},
		{"nothing at all", nil, false, "was not granted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := failedCall(c.events)
			require.Equal(t, c.renews, err == nil && renewsAlone(c.events))
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.Regexp(t, c.err, err)
		})
	}
}

func TestExpiresEarly(t *testing.T) {
	const second = int64(time.Second)
	asked := history.Event{Op: history.OpAcquire, Type: history.TypeInvoke, Key: "k1"}
	granted := func(validity int64) history.Event {
		return history.Event{Op: history.OpAcquire, Type: history.TypeOK, Key: "k1", Validity: validity}
	}
	set := func(key string, expiry int64) history.Event {
		return history.Event{Type: history.TypeReply, Process: "c1>n1", Key: key,
			Command: &history.Command{Name: "SET", Key: key, Expiry: expiry, Effect: history.EffectSet, Done: true}}
	}
	unknown := history.Event{Type: history.TypeReply, Process: "c1>n1", Command: &history.Command{Name: "EXEC"}}
	for name, c := range map[string]struct {
		events []history.Event
		early  bool
	}{
		"expiry above the validity": {[]history.Event{asked, set("k1", second), granted(second * 98 / 100)}, false},
		"expiry of the validity":    {[]history.Event{asked, set("k1", second), granted(second)}, false},
		"expiry in whole seconds":   {[]history.Event{asked, set("k1", second), granted(second * 3 / 2)}, true},
		"the longer of two keys": {[]history.Event{asked, set("k1", 2*second), set("q", second),
			granted(second * 2)}, false},
		"no expiry":                   {[]history.Event{asked, set("k1", 0), granted(second)}, false},
		"an unknown command":          {[]history.Event{asked, set("k1", second), unknown, granted(second * 2)}, false},
		"no expiry, then another key": {[]history.Event{asked, set("k1", 0), set("q", second), granted(second * 2)}, false},
	} {
		err := expiresEarly(c.events)
		require.Equal(t, c.early, errors.Is(err, ErrExpiresEarly), "%s: %v", name, err)
	}
}

// On real servers no experiment names the cause: the facts are what is known of it.
func TestCause_NotShown_HasTheFacts(t *testing.T) {
	broken := result(checker.MutualExclusion, history.Violated, "")
	broken.Violations = []checker.Violation{{What: "both held it", Facts: []checker.Fact{{What: "c2's key was deleted"}}}}
	trial := Result{Lock: "single", Expect: map[string]string{checker.MutualExclusion: history.Holds},
		Results: []checker.Result{broken}}
	cause, found := trial.Cause()
	require.True(t, found)
	require.Equal(t, Cause{"both held it; c2's key was deleted", checker.MutualExclusion, false}, cause)
	keys := map[string]bool{}
	for _, why := range []string{"no fault and no single step is needed for it", "it depends on the seed"} {
		trial.Causes = nil
		trial.Explain(experiments.Cause{Property: checker.MutualExclusion, NotFound: why})
		cause, _ = trial.Cause()
		require.False(t, cause.Shown)
		require.Equal(t, "cause not shown; another violation of the property is drawn in a", cause.As("a"))
		keys[cause.Key] = true
	}
	require.Len(t, keys, 2, "violations with other results are not folded into one")
}
