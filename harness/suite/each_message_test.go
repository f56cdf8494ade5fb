package suite

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/trial"
	"example.org/lockproof/scenarios"
)

// The operation of these trials has three messages.
func TestEachMessage_RunsForEachMessage(t *testing.T) {
	overlap := func(p *trial.Plan, r *Result) []history.Event {
		return slices.Insert(granted(p, r), 3, overlapping...)
	}
	stalled := func(p *trial.Plan, r *Result) []history.Event { return append(granted(p, r), stall) }
	stalls := 0
	stalledOnce := func(p *trial.Plan, r *Result) []history.Event {
		if stalls++; stalls == 1 {
			return stalled(p, r)
		}
		return granted(p, r)
	}
	for name, c := range map[string]struct {
		second  func(*trial.Plan, *Result) []history.Event // the history at the second message
		want    Standing
		message int
		runs    []int
	}{
		"holds at each":       {granted, AsExpected, 1, []int{1, 2, 3, 4, 1}},
		"violated at one":     {overlap, Differs, 2, []int{1, 2}},
		"stalled at one":      {stalled, Inconclusive, 2, []int{1, 2, 2, 3, 4, 2, 2}},
		"stalled once at one": {stalledOnce, AsExpected, 1, []int{1, 2, 2, 3, 4, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			job := plain("a")
			job.Scenario.Script = []scenarios.Step{{Verb: scenarios.VerbAcquire, EachMessage: true}}
			o := onFake(1)
			o.Retries = 0
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
			done := runFake(t.Context(), o, []Job{job}, performer, func(Result) {})[0]
			requireStanding(t, done, c.want, "")
			require.Equal(t, c.message, done.Message)
			require.Equal(t, c.runs, runs)
			require.Equal(t, c.want == Differs, done.verdict(checker.MutualExclusion) == history.Violated)
		})
	}
}

// The message after which the lock fails may be a later one.
func TestEachMessage_RunEnds_DoesNotHold(t *testing.T) {
	job := plain("a")
	job.Scenario.Script = []scenarios.Step{{Verb: scenarios.VerbAcquire, EachMessage: true}}
	ctx, interrupt := context.WithCancel(t.Context())
	performer := func(_ context.Context, p *trial.Plan, r *Result, j *trial.Journal) (trial.Observed, error) {
		record(j, granted(p, r))
		if p.Job.Message == 2 {
			interrupt()
		}
		return trial.Observed{PastLastMessage: p.Job.Message > 3}, nil
	}
	done := runFake(ctx, onFake(1), []Job{job}, performer, func(Result) {})[0]
	requireStanding(t, done, Inconclusive, "unfinished: the run ended at message 2 of the operation")
}
