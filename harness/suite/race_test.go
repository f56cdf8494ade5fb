package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
)

// with is a trial with these waits and that verdict on a property.
func with(property, verdict string, waits ...interleave.Wait) Result {
	r := checker.Result{Property: property, Verdict: verdict}
	if verdict == history.Violated {
		r.Violations = []checker.Violation{{What: "it was broken"}}
	}
	return Result{Results: []checker.Result{r}, Waits: waits}
}

func TestSettle(t *testing.T) {
	a, b := interleave.Wait{Point: "a.go:1", Nth: 1, For: 8 * time.Millisecond}, interleave.Wait{Point: "b.go:2", Nth: 3,
		For: time.Millisecond}
	needs := func(point string, least time.Duration) func([]interleave.Wait) bool {
		return func(waits []interleave.Wait) bool {
			return len(waits) == 1 && waits[0].Point == point && waits[0].For >= least
		}
	}
	tests := []struct {
		name     string
		violated func([]interleave.Wait) bool
		want     string
		waits    *[]interleave.Wait
	}{
		{"what occurs without any wait is no race", func([]interleave.Wait) bool { return true }, "", &[]interleave.Wait{}},
		{"one wait is a race, as short as it may be", needs("a.go:1", 3*time.Millisecond),
			"cause: a race: a goroutine waits for 4 ms at a.go:1 (without it: holds, 1 of 1 seed)",
			&[]interleave.Wait{{Point: "a.go:1", Nth: 1, For: 4 * time.Millisecond}}},
		{"what needs several waits stays as it is", func(waits []interleave.Wait) bool { return len(waits) > 1 }, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, waits := settle(with(checker.MutualExclusion, history.Violated, a, b), func(waits []interleave.Wait) Result {
				if tt.violated(waits) {
					return with(checker.MutualExclusion, history.Violated, waits...)
				}
				return with(checker.MutualExclusion, history.Holds, waits...)
			})
			require.Equal(t, tt.waits, waits)
			require.Equal(t, history.Violated, answer.verdict(checker.MutualExclusion))
			if tt.want != "" {
				require.Equal(t, tt.want, answer.CauseOf(checker.MutualExclusion).Sentence())
			}
		})
	}
}

// The harness's own waits must not count against the lock.
func TestDrawnWaits_LeaveABoundOnTimeUndecided(t *testing.T) {
	wait := interleave.Wait{Point: "a.go:1", Nth: 1, For: time.Millisecond}
	for _, tt := range []struct {
		property, want string
		drawn          bool
		waits          []interleave.Wait
	}{
		{checker.FaultTolerance, history.Inconclusive, true, []interleave.Wait{wait}},
		{checker.FaultTolerance, history.Violated, false, []interleave.Wait{wait}},
		{checker.FaultTolerance, history.Violated, true, nil},
		{checker.MutualExclusion, history.Violated, true, []interleave.Wait{wait}},
	} {
		r := with(tt.property, history.Violated, tt.waits...)
		r.allowForWaits(tt.drawn)
		require.Equal(t, tt.want, r.verdict(tt.property), tt)
		require.Equal(t, []string{tt.property}, r.suspects(), "an experiment tells")
	}
}
