package cause

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// scenario has a script of these faults, each on a target, in order.
func scenario(verbs ...string) *scenarios.Scenario {
	s := &scenarios.Scenario{Name: "test", TTL: time.Second}
	for _, verb := range verbs {
		s.Script = append(s.Script, scenarios.Step{Verb: scenarios.Verb(verb), Targets: []string{"c1"},
			For: scenarios.Span{TTLs: 1}})
	}
	return s
}

// violatedIf is a trial that violates the property if a condition on the verbs of the script is met.
func violatedIf(is func(verbs []string, v Variation, seed uint64) bool) Trial {
	return func(_ context.Context, v Variation, seed uint64) Judged {
		var verbs []string
		for _, step := range v.Scenario.Script {
			verbs = append(verbs, string(step.Verb))
		}
		if is(verbs, v, seed) {
			return Judged{Verdict: history.Violated, At: int64(time.Second)}
		}
		return Judged{Verdict: history.Holds}
	}
}

func has(verbs []string, want ...string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(verbs, w) })
}

func TestFind(t *testing.T) {
	tests := []struct {
		name     string
		script   []string
		without  []string
		violated func(verbs []string, v Variation, seed uint64) bool
		want     string
	}{
		{"one fault of several is the cause", []string{"acquire", "pause", "kill", "clock"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool { return has(verbs, "pause") },
			"cause: the pause of c1 (without it: holds, 5 of 5 seeds; the rest of the schedule can be left out)"},
		{"two faults are needed together", []string{"pause", "kill", "clock"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool { return has(verbs, "pause", "clock") },
			"cause: the pause of c1 and the clock change of c1 (without any of them: holds, 5 of 5 " +
				"seeds; the rest of the schedule can be left out)"},
		{"one fault, and either of two others", []string{"pause", "kill", "clock"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool {
				return has(verbs, "pause") && (has(verbs, "kill") || has(verbs, "clock"))
			},
			"cause: the pause of c1, with the kill of c1 or another fault (without the pause of c1: holds, 5 of 5 seeds; " +
				"without the kill of c1: still violated, 5 of 5 seeds; the rest of the schedule can be left out)"},
		{"either of two faults", []string{"pause", "kill"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool { return has(verbs, "pause") || has(verbs, "kill") },
			"cause not shown: no single fault is needed for it: other faults can replace the pause of c1 " +
				"(violated in 5 of 5 seeds)"},
		{"two of three faults", []string{"pause", "kill", "clock"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool { return len(verbs) >= 2 },
			"cause not shown: no single fault is needed for it: other faults can replace the pause of c1 and the kill of c1 " +
				"(violated in 5 of 5 seeds)"},
		{"a rule that is off, and a fault", []string{"pause"}, []string{"ElapsedCheck", "RetryJitter"},
			func(verbs []string, v Variation, _ uint64) bool {
				return has(verbs, "pause") && slices.Contains(v.Without, "ElapsedCheck")
			},
			"cause: the pause of c1, with the rule ElapsedCheck, which is off " +
				"(without the pause of c1: holds, 5 of 5 seeds; with ElapsedCheck on: holds, 5 of 5 seeds)"},
		{"either of two rules averts it", nil, []string{"ElapsedCheck", "RetryJitter"},
			func(_ []string, v Variation, _ uint64) bool { return len(v.Without) == 2 },
			"cause: the rules ElapsedCheck and RetryJitter, which are off " +
				"(with ElapsedCheck on: holds, 5 of 5 seeds; with RetryJitter on: holds, 5 of 5 seeds)"},
		{"only both rules together avert it", nil, []string{"ElapsedCheck", "RetryJitter"},
			func(_ []string, v Variation, _ uint64) bool { return len(v.Without) > 0 },
			"cause not shown: no fault and no single step is needed for it (violated in 5 of 5 seeds)"},
		{"a step of a client, where no fault is needed", []string{"acquire", "release"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool { return has(verbs, "release") },
			"cause: the release of c1 (without it: holds, 5 of 5 seeds)"},
		{"nothing is needed", []string{"acquire", "pause"}, nil,
			func([]string, Variation, uint64) bool { return true },
			"cause not shown: no fault and no single step is needed for it (violated in 5 of 5 seeds)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Finder{Scenario: scenario(tt.script...), Without: tt.without, Property: "p", Seed: 1, Seeds: 5,
				Trial: violatedIf(tt.violated)}
			require.Equal(t, tt.want, sentence(t, f))
		})
	}
}

// sentence is the cause without the point of no return.
func sentence(t *testing.T, f Finder) string {
	found := f.Find(t.Context())
	found.PointOfNoReturn = nil
	return found.Sentence()
}

// What is not violated in every seed anyway shows nothing when it goes away with a change.
func TestFind_ViolatedInSomeSeedsOnly_NoCause(t *testing.T) {
	for violated := uint64(1); violated < 5; violated++ {
		f := Finder{Scenario: scenario("pause"), Property: "p", Seed: 1, Seeds: 5,
			Trial: violatedIf(func(verbs []string, _ Variation, seed uint64) bool {
				return has(verbs, "pause") && seed <= violated
			})}
		require.Equal(t, fmt.Sprintf("cause not shown: it depends on the seed (violated in %d of 5 seeds)", violated),
			sentence(t, f))
	}
}

// A trial that fails, stops early or cannot be judged is no evidence, whichever change it has.
func TestFind_ChangedTrialIsNotJudged_NoCause(t *testing.T) {
	f := Finder{Scenario: scenario("pause", "kill"), Property: "p", Seed: 1, Seeds: 5,
		Trial: func(_ context.Context, v Variation, seed uint64) Judged {
			if len(v.Scenario.Script) < 2 && seed > 1 || v.FaultsUntil > 0 {
				return Judged{}
			}
			return Judged{Verdict: history.Violated, At: int64(time.Second)}
		}}
	require.Equal(t, "cause not shown: no fault and no single step is needed for it (violated in 5 of 5 seeds)",
		sentence(t, f))
	f.Trial = func(_ context.Context, v Variation, _ uint64) Judged {
		if len(v.Scenario.Script) < 2 || v.FaultsUntil > 0 {
			return Judged{}
		}
		return Judged{Verdict: history.Violated, At: int64(time.Second)}
	}
	found := f.Find(t.Context())
	require.Equal(t, "cause not shown: the experiments do not agree, or some show nothing (violated in 5 of 5 seeds)",
		found.Sentence())
	require.Equal(t, "without the pause of c1: not known, 5 of 5 seeds", found.Experiments[0].String())
}

// One seed of five shows neither a cause nor that a setting helps.
func TestFind_TooFewSeeds_NoCause(t *testing.T) {
	f := Finder{Scenario: scenario("pause"), Property: "p", Seed: 1, Seeds: 5, MaxTrials: 1, Options: true,
		Trial: func(_ context.Context, v Variation, _ uint64) Judged {
			if len(v.Scenario.Script) == 0 || v.NoRetries {
				return Judged{Verdict: history.Holds, AsExpected: true}
			}
			return Judged{Verdict: history.Violated, At: int64(time.Second)}
		}}
	require.Equal(t, "cause not shown: the experiments took too long (violated in 1 of 1 seed)", sentence(t, f))
}

// Without the only write of a client nothing is tested: that the write is needed explains nothing.
func TestFind_NothingTestedWithoutTheStep_NoCause(t *testing.T) {
	f := Finder{Scenario: scenario("acquire", "write"), Property: "p", Seed: 1, Seeds: 5,
		Trial: func(_ context.Context, v Variation, _ uint64) Judged {
			if len(v.Scenario.Script) < 2 {
				return Judged{Verdict: history.Inconclusive}
			}
			return Judged{Verdict: history.Violated, At: int64(time.Second)}
		}}
	require.Equal(t, "cause not shown: no fault and no single step is needed for it (violated in 5 of 5 seeds)",
		sentence(t, f))
	f.Trial = func(_ context.Context, v Variation, seed uint64) Judged {
		switch {
		case len(v.Scenario.Script) == 2:
			return Judged{Verdict: history.Violated, At: int64(time.Second)}
		case seed == 1:
			return Judged{Verdict: history.Holds}
		}
		return Judged{Verdict: history.Inconclusive}
	}
	require.Equal(t, "cause not shown: the experiments do not agree, or some show nothing (violated in 5 of 5 seeds)",
		sentence(t, f))
}

func TestFind_Interrupted_NoCause(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	f := Finder{Scenario: scenario("pause", "kill"), Property: "p", Seed: 1, Seeds: 5,
		Trial: func(ctx context.Context, _ Variation, _ uint64) Judged {
			if ctx.Err() != nil {
				return Judged{Verdict: history.Inconclusive}
			}
			interrupt()
			return Judged{Verdict: history.Violated, At: int64(time.Second)}
		}}
	found := f.Find(ctx)
	require.Equal(t, "cause not shown: the experiments were interrupted", found.Sentence())
}

func TestFind_NecessaryFaultsAloneHoldInSomeSeeds_RestIsNotCalledNeedless(t *testing.T) {
	f := Finder{Scenario: scenario("pause", "kill"), Property: "p", Seed: 1, Seeds: 5,
		Trial: violatedIf(func(verbs []string, _ Variation, seed uint64) bool {
			return has(verbs, "pause") && (has(verbs, "kill") || seed == 1)
		})}
	require.Equal(t, "cause: the pause of c1 (without it: holds, 5 of 5 seeds)", sentence(t, f))
	f.Scenario = scenario("pause", "kill", "clock")
	f.Trial = violatedIf(func(verbs []string, _ Variation, seed uint64) bool {
		return has(verbs, "pause") && (has(verbs, "kill") || seed == 3)
	})
	require.Equal(t, "cause: the pause of c1 (without the pause of c1: holds, 5 of 5 seeds; "+
		"without the kill of c1: holds, 4 of 5 seeds)", sentence(t, f))
}

func TestFind_PointOfNoReturn(t *testing.T) {
	const ms = time.Millisecond
	between := func(from, to time.Duration, v Variation) bool { return v.FaultsUntil > from && v.FaultsUntil <= to }
	tests := []struct {
		name    string
		verdict func(Variation) string
		want    any
	}{
		{"the last time at which it helps to end the faults", func(v Variation) string {
			if between(0, 640*ms, v) {
				return history.Holds
			}
			return history.Violated
		}, 640 * ms},
		{"it helps again later: there is none", func(v Variation) string {
			if between(0, 300*ms, v) || between(600*ms, 700*ms, v) {
				return history.Holds
			}
			return history.Violated
		}, nil},
		{"some of the trials fail: it is not known", func(v Variation) string {
			switch {
			case between(0, 300*ms, v):
				return history.Holds
			case between(300*ms, 800*ms, v):
				return ""
			}
			return history.Violated
		}, nil},
		{"it never helps: there is none", func(Variation) string { return history.Violated }, nil},
		{"it always helps: there is none", func(v Variation) string {
			if v.FaultsUntil > 0 {
				return history.Holds
			}
			return history.Violated
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Finder{Scenario: scenario("pause", "kill"), Property: "p", Seed: 1, Seeds: 5,
				Trial: func(_ context.Context, v Variation, _ uint64) Judged {
					if len(v.Scenario.Script) == 0 {
						return Judged{Verdict: history.Holds}
					}
					return Judged{Verdict: tt.verdict(v), At: int64(time.Second)}
				}}
			found := f.Find(t.Context())
			if tt.want == nil {
				require.Nil(t, found.PointOfNoReturn)
				return
			}
			require.InDelta(t, tt.want, *found.PointOfNoReturn, float64(precision))
		})
	}
}

// A setting is advice: the scenario must still show its situation, and every verdict must be as it expects.
func TestFind_SettingOfTheClientLibrary(t *testing.T) {
	for advised, changed := range map[bool][]Judged{
		true:  {{Verdict: history.Holds, AsExpected: true}, {Verdict: history.Inconclusive, AsExpected: true}},
		false: {{Verdict: history.Inconclusive}, {AsExpected: true}, {Verdict: history.Violated}, {Verdict: history.Holds}},
	} {
		for _, j := range changed {
			f := Finder{Scenario: scenario("pause"), Property: "p", Seed: 1, Seeds: 5, Options: true,
				Trial: func(_ context.Context, v Variation, _ uint64) Judged {
					switch {
					case v.ContextTimeouts:
						require.NotEmpty(t, v.Scenario.Script[0].Must, "the scenario's requirements stay")
						return j
					case len(v.Scenario.Script) == 0:
						require.Zero(t, *v.Scenario.Earned.Faults, "without its fault it can have no effect of one")
						return Judged{Verdict: history.Holds}
					}
					return Judged{Verdict: history.Violated, At: int64(time.Second)}
				}}
			f.Scenario.Script[0].Must = "ok"
			found := sentence(t, f)
			require.Equal(t, advised, strings.Contains(found, "; with ContextTimeoutEnabled: true: "), j)
			require.NotContains(t, found, "MaxRetries", "it changes nothing")
		}
	}
}

func TestID_CausesOfOtherRulesDiffer(t *testing.T) {
	elapsed, jitter := Cause{Rules: []string{"ElapsedCheck"}}, Cause{Rules: []string{"RetryJitter"}}
	require.NotEqual(t, elapsed.ID(), jitter.ID())
}

func TestKindsOf_FewestKindsThatAreEnough(t *testing.T) {
	of := func(violated func(verbs []string) bool) []string {
		f := Finder{Scenario: scenario("pause", "kill", "clock", "acquire"), Property: "p", Seed: 1,
			Trial: violatedIf(func(verbs []string, _ Variation, _ uint64) bool { return violated(verbs) })}
		return f.KindsOf(t.Context())
	}
	require.Equal(t, []string{"pause"}, of(func(v []string) bool { return has(v, "pause") }))
	require.Equal(t, []string{"kill"}, of(func(v []string) bool { return has(v, "pause") || has(v, "kill") }),
		"the first in the alphabet")
	require.Equal(t, []string{"clock", "pause"}, of(func(v []string) bool { return has(v, "pause") && has(v, "clock") }))
	require.Equal(t, []string{"clock", "kill", "pause"}, of(func(v []string) bool {
		return has(v, "pause") && has(v, "clock") && has(v, "kill")
	}))
	require.Empty(t, of(func([]string) bool { return true }))
}
