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

// trial is a variation from a seed, with the verbs of its script.
type trial struct {
	Variation
	verbs []string
	seed  uint64
}

func (t trial) has(want ...string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(t.verbs, w) })
}

// finder tries a script of these faults from five seeds, with a verdict on each trial.
func finder(verdict func(trial) string, script ...string) Finder {
	return Finder{Scenario: scenario(script...), Property: "p", Seed: 1, Seeds: 5,
		Trial: func(_ context.Context, v Variation, seed uint64) Judged {
			t := trial{Variation: v, seed: seed}
			for _, step := range v.Scenario.Script {
				t.verbs = append(t.verbs, string(step.Verb))
			}
			return Judged{Verdict: verdict(t), At: int64(time.Second), AsExpected: true}
		}}
}

// violatedOr is the verdict on a trial that violates the property if a condition is met, and another verdict else.
func violatedOr(other string, is func(trial) bool) func(trial) string {
	return func(t trial) string {
		if is(t) {
			return history.Violated
		}
		return other
	}
}

func violatedIf(is func(trial) bool) func(trial) string { return violatedOr(history.Holds, is) }

func TestFind(t *testing.T) {
	const (
		notNeeded = "cause not shown: no fault and no single step is needed for it (violated in 5 of 5 seeds)"
		disagree  = "cause not shown: the experiments do not agree, or some show nothing (violated in 5 of 5 seeds)"
	)
	rules := []string{"ElapsedCheck", "RetryJitter"}
	tests := []struct {
		name    string
		script  string
		without []string
		verdict func(trial) string
		want    string
	}{
		{"one fault of several is the cause", "acquire pause kill clock", nil,
			violatedIf(func(t trial) bool { return t.has("pause") }),
			"cause: the pause of c1 (without it: holds, 5 of 5 seeds; the rest of the schedule can be left out)"},
		{"two faults are needed together", "pause kill clock", nil,
			violatedIf(func(t trial) bool { return t.has("pause", "clock") }),
			"cause: the pause of c1 and the clock change of c1 (without any of them: holds, 5 of 5 " +
				"seeds; the rest of the schedule can be left out)"},
		{"one fault, and either of two others", "pause kill clock", nil,
			violatedIf(func(t trial) bool { return t.has("pause") && (t.has("kill") || t.has("clock")) }),
			"cause: the pause of c1, with the kill of c1 or another fault (without the pause of c1: holds, 5 of 5 seeds; " +
				"without the kill of c1: still violated, 5 of 5 seeds; the rest of the schedule can be left out)"},
		{"either of two faults", "pause kill", nil,
			violatedIf(func(t trial) bool { return t.has("pause") || t.has("kill") }),
			"cause not shown: no single fault is needed for it: other faults can replace the pause of c1 " +
				"(violated in 5 of 5 seeds)"},
		{"two of three faults", "pause kill clock", nil,
			violatedIf(func(t trial) bool { return len(t.verbs) >= 2 }),
			"cause not shown: no single fault is needed for it: other faults can replace the pause of c1 and the kill of c1 " +
				"(violated in 5 of 5 seeds)"},
		{"a rule that is off, and a fault", "pause", rules,
			violatedIf(func(t trial) bool { return t.has("pause") && slices.Contains(t.Without, "ElapsedCheck") }),
			"cause: the pause of c1, with the rule ElapsedCheck, which is off " +
				"(without the pause of c1: holds, 5 of 5 seeds; with ElapsedCheck on: holds, 5 of 5 seeds)"},
		{"either of two rules averts it", "", rules,
			violatedIf(func(t trial) bool { return len(t.Without) == 2 }),
			"cause: the rules ElapsedCheck and RetryJitter, which are off " +
				"(with ElapsedCheck on: holds, 5 of 5 seeds; with RetryJitter on: holds, 5 of 5 seeds)"},
		{"only both rules together avert it", "", rules,
			violatedIf(func(t trial) bool { return len(t.Without) > 0 }), notNeeded},
		{"a step of a client, where no fault is needed", "acquire release", nil,
			violatedIf(func(t trial) bool { return t.has("release") }),
			"cause: the release of c1 (without it: holds, 5 of 5 seeds)"},
		{"nothing is needed", "acquire pause", nil, violatedIf(func(trial) bool { return true }), notNeeded},
		{"the rest is needed in some seeds", "pause kill", nil,
			violatedIf(func(t trial) bool { return t.has("pause") && (t.has("kill") || t.seed == 1) }),
			"cause: the pause of c1 (without it: holds, 5 of 5 seeds)"},
		{"the rest is needed in most seeds", "pause kill clock", nil,
			violatedIf(func(t trial) bool { return t.has("pause") && (t.has("kill") || t.seed == 3) }),
			"cause: the pause of c1 (without the pause of c1: holds, 5 of 5 seeds; " +
				"without the kill of c1: holds, 4 of 5 seeds)"},

		// A trial that fails, stops early or cannot be judged is no evidence, whichever change it has.
		{"changed trials fail, but for one", "pause kill", nil, violatedOr("", func(t trial) bool {
			return (len(t.verbs) == 2 || t.seed == 1) && t.FaultsUntil == 0
		}), notNeeded},
		{"all changed trials fail", "pause kill", nil, violatedOr("", func(t trial) bool {
			return len(t.verbs) == 2 && t.FaultsUntil == 0
		}), disagree},
		// Without the only write of a client nothing is tested: that the write is needed explains nothing.
		{"nothing is tested without a step", "acquire write", nil,
			violatedOr(history.Inconclusive, func(t trial) bool { return len(t.verbs) == 2 }), notNeeded},
		{"nothing is tested without a step, but for one seed", "acquire write", nil, func(t trial) string {
			if t.seed == 1 && len(t.verbs) < 2 {
				return history.Holds
			}
			return violatedOr(history.Inconclusive, func(t trial) bool { return len(t.verbs) == 2 })(t)
		}, disagree},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := finder(tt.verdict, strings.Fields(tt.script)...)
			f.Without = tt.without
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

func TestFind_ChangedTrialFails_ResultIsNotKnown(t *testing.T) {
	f := finder(violatedOr("", func(t trial) bool { return len(t.verbs) == 2 && t.FaultsUntil == 0 }), "pause", "kill")
	require.Equal(t, "without the pause of c1: not known, 5 of 5 seeds", f.Find(t.Context()).Experiments[0].String())
}

// What is not violated in every seed anyway shows nothing when it goes away with a change.
func TestFind_ViolatedInSomeSeedsOnly_NoCause(t *testing.T) {
	for violated := uint64(1); violated < 5; violated++ {
		f := finder(violatedIf(func(t trial) bool { return t.has("pause") && t.seed <= violated }), "pause")
		require.Equal(t, fmt.Sprintf("cause not shown: it depends on the seed (violated in %d of 5 seeds)", violated),
			sentence(t, f))
	}
}

// One seed of five shows neither a cause nor that a setting helps.
func TestFind_TooFewSeeds_NoCause(t *testing.T) {
	f := finder(violatedIf(func(t trial) bool { return len(t.verbs) > 0 && !t.NoRetries }), "pause")
	f.MaxTrials, f.Options = 1, true
	require.Equal(t, "cause not shown: the experiments took too long (violated in 1 of 1 seed)", sentence(t, f))
}

func TestFind_Interrupted_NoCause(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	f := finder(func(trial) string {
		if ctx.Err() != nil {
			return history.Inconclusive
		}
		interrupt()
		return history.Violated
	}, "pause", "kill")
	found := f.Find(ctx)
	require.Equal(t, "cause not shown: the experiments were interrupted", found.Sentence())
}

func TestFind_PointOfNoReturn(t *testing.T) {
	type ms = [2]time.Duration // after and until
	tests := []struct {
		name          string
		helps, failed []ms // to end the faults then
		want          any
	}{
		{"the last time at which it helps to end the faults", []ms{{0, 640}}, nil, 640 * time.Millisecond},
		{"it helps again later: there is none", []ms{{0, 300}, {600, 700}}, nil, nil},
		{"some of the trials fail: it is not known", []ms{{0, 300}}, []ms{{300, 800}}, nil},
		{"it never helps: there is none", nil, nil, nil},
		{"it always helps: there is none", []ms{{0, 1_000_000}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := finder(func(t trial) string {
				in := func(span ms) bool {
					return t.FaultsUntil > span[0]*time.Millisecond && t.FaultsUntil <= span[1]*time.Millisecond
				}
				switch {
				case len(t.verbs) == 0 || slices.ContainsFunc(tt.helps, in):
					return history.Holds
				case slices.ContainsFunc(tt.failed, in):
					return ""
				}
				return history.Violated
			}, "pause", "kill")
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
	of := func(violated func(trial) bool) []string {
		f := finder(violatedIf(violated), "pause", "kill", "clock", "acquire")
		return f.KindsOf(t.Context())
	}
	require.Equal(t, []string{"pause"}, of(func(t trial) bool { return t.has("pause") }))
	require.Equal(t, []string{"kill"}, of(func(t trial) bool { return t.has("pause") || t.has("kill") }),
		"the first in the alphabet")
	require.Equal(t, []string{"clock", "pause"}, of(func(t trial) bool { return t.has("pause", "clock") }))
	require.Equal(t, []string{"clock", "kill", "pause"}, of(func(t trial) bool { return t.has("pause", "clock", "kill") }))
	require.Empty(t, of(func(trial) bool { return true }))
}
