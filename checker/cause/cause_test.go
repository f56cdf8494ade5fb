package cause

import (
	"context"
	"slices"
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
			"cause: the pause of c1 and the clock of c1 (without any of them: holds, 5 of 5 seeds; the rest of the schedule " +
				"can be left out)"},
		{"one fault, and either of two others", []string{"pause", "kill", "clock"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool {
				return has(verbs, "pause") && (has(verbs, "kill") || has(verbs, "clock"))
			},
			"cause: the pause of c1 (without the pause of c1: holds, 5 of 5 seeds; " +
				"without the kill of c1: still violated, 5 of 5 seeds; the rest of the schedule can be left out)"},
		{"the last moment at which it helps to end the faults", []string{"pause"}, nil,
			func(verbs []string, v Variation, _ uint64) bool {
				return has(verbs, "pause") && (v.FaultsUntil == 0 || v.FaultsUntil > 640*time.Millisecond)
			},
			"cause: the pause of c1 (without it: holds, 5 of 5 seeds); point of no return: 0.640 s"},
		{"a rule that is off, and a fault", []string{"pause"}, []string{"ElapsedCheck", "RetryJitter"},
			func(verbs []string, v Variation, _ uint64) bool {
				return has(verbs, "pause") && slices.Contains(v.Without, "ElapsedCheck")
			},
			"cause: the pause of c1, with the rule ElapsedCheck, which is off " +
				"(without the pause of c1: holds, 5 of 5 seeds; with ElapsedCheck on: holds, 5 of 5 seeds)"},
		{"a step of a client, where no fault is needed", []string{"acquire", "release", "kill"}, nil,
			func(verbs []string, _ Variation, _ uint64) bool { return has(verbs, "release") },
			"cause: the release of c1 (without it: holds, 5 of 5 seeds)"},
		{"chance", []string{"pause"}, nil,
			func(verbs []string, _ Variation, seed uint64) bool {
				return seed%2 == 1 && has(verbs, "pause") || seed == 4
			},
			"cause not found: holds or not by chance (violated in 4 of 5 seeds)"},
		{"what another seed does not need", []string{"pause"}, nil,
			func(verbs []string, _ Variation, seed uint64) bool { return seed != 1 || has(verbs, "pause") },
			"cause not found: another seed does not need what this one needs (violated in 5 seeds)"},
		{"nothing is needed", []string{"acquire", "pause"}, nil,
			func([]string, Variation, uint64) bool { return true },
			"cause not found: no fault and no single step is needed for it (violated in 5 of 5 seeds)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Finder{Scenario: scenario(tt.script...), Without: tt.without, Property: "p", Seed: 1, Seeds: 5,
				Trial: violatedIf(tt.violated)}
			found := f.Find(t.Context())
			require.Equal(t, tt.want, found.Sentence())
		})
	}
}

func TestFind_SettingOfTheClientLibrary(t *testing.T) {
	f := Finder{Scenario: scenario("pause"), Property: "p", Seed: 1, Seeds: 5, Options: true,
		Trial: violatedIf(func(verbs []string, v Variation, _ uint64) bool {
			return has(verbs, "pause") &&
				!v.ContextTimeouts
		})}
	found := f.Find(t.Context())
	require.Contains(t, found.Sentence(), "with ContextTimeoutEnabled: true: holds, 5 of 5 seeds")
	require.NotContains(t, found.Sentence(), "MaxRetries", "it changes nothing")
}

// The end of a removed fault is removed, too; a fault that stays ends as before.
func TestWithout_FaultRemoved_RemovesItsEnd(t *testing.T) {
	s := &scenarios.Scenario{Script: []scenarios.Step{
		{Verb: "pause", Targets: []string{"n1"}}, {Verb: "pause", Targets: []string{"n2"}},
		{Verb: "resume", Targets: []string{"n1", "n2"}},
	}}
	parts := faults(s)
	require.Equal(t, []string{"the pause of n1", "the pause of n2"}, namesOf(parts))
	left := without(s, parts[:1]).Script
	require.Len(t, left, 2)
	require.Equal(t, []string{"n2"}, left[1].Targets)
	require.Len(t, without(s, parts).Script, 0)
	require.Len(t, s.Script[2].Targets, 2, "the scenario itself is as it was")
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
