package suite

import (
	"context"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// runEachMessage runs a trial once for each message of the operation that a fault interrupts. The first trial with a
// violation, or without results, is the answer. Otherwise a property holds only if it holds at each message. A stalled
// trial runs again at once, since among so many in real time one often stalls.
func (p *Pool) runEachMessage(ctx context.Context, t task) (shown Result) {
	began, attempts, chosen := time.Now(), t.Result.Attempts, 0
	defer func() { shown.Message, shown.Attempts, shown.Elapsed = chosen, attempts+1, time.Since(began) }()
	at := func(message int) Result {
		t.Job.Message = message
		result := p.attempt(ctx, t)
		if hasStall(result.Results) && ctx.Err() == nil {
			return p.attempt(ctx, t)
		}
		return result
	}
	for message := 1; ; message++ {
		result := at(message)
		if ctx.Err() != nil && !result.decides() {
			chosen = message
			return result.untestedAfter(message)
		}
		switch decides := result.decides(); {
		case decides, chosen == 0, !result.pastLast && result.isInconclusive() && !shown.isInconclusive():
			if shown, chosen = result, message; decides || result.pastLast {
				return shown
			}
		case result.pastLast: // its history has replaced the one of the answer
			again := at(chosen)
			if shown.isInconclusive() && !again.decides() { // in real time it may differ
				shown.History = again.History
				return shown
			}
			return again
		}
	}
}

// untestedAfter makes each "holds" inconclusive, as a later message could have another verdict.
func (t Result) untestedAfter(message int) Result {
	for i, r := range t.Results {
		if r.Verdict == history.Holds {
			t.Results[i].Undecide(checker.Unfinished, "the run ended at message %d of the operation", message)
		}
	}
	return t
}

// decides reports whether no further trial can change the answer.
func (t Result) decides() bool { return t.Failure != "" || t.Skipped != "" || len(t.violated()) > 0 }
