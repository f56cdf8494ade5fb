package suite

import (
	"context"
	"time"
)

// runEachMessage runs a trial once for each message of the operation that its plan interrupts. The first trial with a
// violation, or without results, is the answer. Otherwise a property holds only if it holds at each message. A stalled
// trial runs again at once, since among so many in real time one often stalls.
func (t task) runEachMessage(ctx context.Context, once attempt) (shown Result) {
	began, attempts, plan, chosen := time.Now(), t.Result.Attempts, *t.Plan, 0
	t.Plan = &plan
	defer func() { shown.Message, shown.Attempts, shown.Elapsed = chosen, attempts+1, time.Since(began) }()
	at := func(message int) Result {
		plan.Job.Changes.Message = message
		result := once(ctx, t)
		if hasStall(result.Results) && ctx.Err() == nil {
			return once(ctx, t)
		}
		return result
	}
	for message := 1; ; message++ {
		result := at(message)
		switch decides := result.decides() || ctx.Err() != nil; {
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

// decides reports whether no further trial can change the answer.
func (t Result) decides() bool { return t.Failure != "" || t.Skipped != "" || len(t.violated()) > 0 }
