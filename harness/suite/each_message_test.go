package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/trial"
	"example.org/lockproof/scenarios"
)

// The operation of these trials has three messages.
func TestEachMessage_RunsForEachMessage(t *testing.T) {
	stalls, interrupt := 0, func() {}
	stalledOnce := func(p *trial.Plan, r *Result) []history.Event {
		if stalls++; stalls == 1 {
			return stalled(p, r)
		}
		return granted(p, r)
	}
	// The message after which the lock fails may be a later one.
	runEnds := func(p *trial.Plan, r *Result) []history.Event {
		interrupt()
		return granted(p, r)
	}
	for name, c := range map[string]struct {
		second  attempt // at the second message
		want    Standing
		why     string
		message int
		runs    []int
	}{
		"holds at each":       {granted, AsExpected, "", 1, []int{1, 2, 3, 4, 1}},
		"violated at one":     {overlaps, Differs, "", 2, []int{1, 2}},
		"stalled at one":      {stalled, Inconclusive, "", 2, []int{1, 2, 2, 3, 4, 2, 2}},
		"stalled once at one": {stalledOnce, AsExpected, "", 1, []int{1, 2, 2, 3, 4, 1}},
		"the run ends at one": {runEnds, Inconclusive, "unfinished: the run ended at message 2 of the operation", 2,
			[]int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			job := plain("a")
			job.Scenario.Script = []scenarios.Step{{Verb: scenarios.VerbAcquire, EachMessage: true}}
			o := onFake(1)
			o.Retries = 0
			var ctx context.Context
			ctx, interrupt = context.WithCancel(t.Context())
			var runs []int
			performer := func(_ context.Context, p *trial.Plan, r *Result, j *trial.Journal) (trial.Observed, error) {
				message := p.Job.Message
				runs = append(runs, message)
				events := granted
				if message == 2 {
					events = c.second
				}
				record(j, events(p, r))
				return trial.Observed{PastLastMessage: message > 3}, nil
			}
			done := runFake(ctx, o, []Job{job}, performer, func(Result) {})[0]
			requireStanding(t, done, c.want, c.why)
			require.Equal(t, c.message, done.Message)
			require.Equal(t, c.runs, runs)
			require.Equal(t, c.want == Differs, done.verdict(checker.MutualExclusion) == history.Violated)
		})
	}
}
