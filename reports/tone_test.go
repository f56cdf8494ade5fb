package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// Green holds, red is a bug, yellow is a limit or undecided.
func TestTone_OneMeaningEach(t *testing.T) {
	const p = checker.MutualExclusion
	for name, c := range map[string]struct {
		trial suite.Result
		want  Tone
	}{
		"holds":              {trialOf(p, history.Holds, history.Holds, nil), Good},
		"better":             {trialOf(p, history.Holds, history.Violated, nil), Good},
		"unexpected":         {trialOf(p, history.Violated, history.Holds, nil), Bad},
		"expected":           {trialOf(p, history.Violated, history.Violated, nil), Doubt},
		"undecided":          {trialOf(p, history.Inconclusive, history.Holds, nil), Doubt},
		"limit of its class": {trialOf(p, history.Violated, history.Holds, map[string]string{p: history.Violated}), Doubt},
		"bug of a lock":      {trialOf(p, history.Violated, history.Violated, map[string]string{p: history.Holds}), Bad},
	} {
		row := New([]suite.Result{c.trial}, Run{}).Rows[0]
		require.Equal(t, c.want, row.Properties[0].Tone(), name)
	}
}

// A run that decided nothing is not red.
func TestReportTone_Inconclusive_IsDoubt(t *testing.T) {
	trial := trialOf(checker.MutualExclusion, history.Inconclusive, history.Holds, nil)
	require.Equal(t, Doubt, New([]suite.Result{trial}, Run{}).Tone())
}

func trialOf(property, got, expected string, reference map[string]string) suite.Result {
	return suite.Result{Scenario: "s", Results: []checker.Result{{Property: property, Verdict: got}},
		Expect: map[string]string{property: expected}, Reference: reference, AllowBetter: reference != nil}
}
