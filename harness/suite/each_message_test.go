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
	overlapping := func(p *trial.Plan, r *Result) []history.Event {
		events := granted(p, r)
		return append(events[:3:3],
			history.Event{Time: 4, Process: "c2", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"},
			history.Event{Time: 5, Process: "c2", Type: history.TypeOK, Op: history.OpAcquire, ID: 1, Lease: 1, Key: "k1",
				Token: "b", Validity: 10},
			events[3])
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
		"violated at one":     {overlapping, Differs, 2, []int{1, 2}},
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
				message := p.Job.Changes.Message
				runs = append(runs, message)
				events := granted
				if message == 2 {
					events = c.second
				}
				for _, e := range events(p, r) {
					j.Record(e)
				}
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
