package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// The reference is run in virtual time. Where that lacks what the row needs, the row says what the reference comes to.
func TestReference_OfARowThatVirtualTimeCannotRun(t *testing.T) {
	chosen, err := scenarios.Select([]string{"aof-always-rewrite"})
	require.NoError(t, err)
	never := func(context.Context, task) Result {
		t.Error("there is nothing to run")
		return Result{}
	}
	for expected, want := range map[string]Outcome{history.Violated: LimitOfClass, history.Holds: Differs, "": Differs} {
		trial := Result{Lock: "single", AllowBetter: true, Expect: map[string]string{checker.MutualExclusion: expected},
			Results: []checker.Result{result(checker.MutualExclusion, history.Violated, "")}}
		row := Job{Scenario: chosen[0], Variant: chosen[0].OneNode(), AllowBetter: true}
		measureClass(t.Context(), never, row, Options{}, &trial)
		outcome, why := trial.Outcome()
		require.Equal(t, want, outcome, "expected %q: %s", expected, why)
	}
}
