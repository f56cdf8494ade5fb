package trial

import (
	"context"
	"errors"
	"time"

	"example.org/lockproof/harness/client"
)

// awaitOperation waits for an operation's result. If there is none long after its context has ended, its caller cancels
// it once more, in the history, and the checker judges how long it goes on. Then the client is killed.
func (r *run) awaitOperation(ctx context.Context, name string, p pending) (client.Message, error) {
	limit, bound := r.answerLimit(p.step.Within), time.Duration(r.plan.bounds().Cancel)
	msg, err := r.clients.awaitReply(ctx, name, p.done, limit)
	if !errors.Is(err, errNoReply) {
		return msg, err
	}
	if err := r.cancel(name); err != nil {
		return msg, err
	}
	msg, err = r.clients.awaitReply(ctx, name, p.done, 2*bound)
	if !errors.Is(err, errNoReply) {
		return msg, err
	}
	if err := r.clients.giveUp(name); err != nil {
		return msg, err
	}
	return msg, preconditionErrorf("%s's %s, whose caller had given up, had not returned after %v", name, p.step.Verb,
		limit+2*bound)
}
