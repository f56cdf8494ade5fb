package trial

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/scenarios"
)

// A fault with EachMessage begins at one message of its client's next operation: between any two messages, a process
// can be suspended or die. A trial is for one message; the suite runs one for each.

// EachMessage reports whether a fault begins at a message of an operation, one trial for each message.
func (p *Plan) EachMessage() bool {
	return slices.ContainsFunc(p.Script, func(s scenarios.Step) bool { return s.EachMessage })
}

// arm makes a fault begin in its client's next operation.
func (r *run) arm(s scenarios.Step) error {
	for _, name := range s.Targets {
		if !slices.Contains(r.plan.clientNames(), name) {
			return fmt.Errorf("each-message: %s is no client", name)
		}
		r.armed[name] = s
	}
	return nil
}

// interrupted runs an operation up to the message, counted from 1, that its client sends or receives. There the client
// stops, and the fault begins. If the operation has fewer messages, the trial shows nothing.
func (r *run) interrupted(ctx context.Context, name string, s scenarios.Step,
	send func() (<-chan client.Message, error)) error {
	delete(r.armed, name)
	s.Targets = []string{name}
	reached, messages := make(chan struct{}), 0
	var counting sync.Mutex
	var stopErr error
	observe := func(f func()) {
		for _, node := range r.plan.Servers() {
			if l := r.cluster.Link(name, node); l != nil {
				l.Observe(f)
			}
		}
	}
	observe(func() {
		counting.Lock()
		defer counting.Unlock()
		if messages++; messages == r.plan.Job.Changes.Message {
			stopErr = r.clients.Pause(name)
			close(reached)
		}
	})
	defer observe(nil)
	done, err := send()
	if err != nil {
		return err
	}
	select {
	case <-reached:
	case <-done:
		r.pending[name], r.pastLastMessage = nil, true
		return preconditionErrorf("%s's operation has fewer messages", name)
	case <-ctx.Done():
		return ctx.Err()
	}
	if stopErr != nil {
		return stopErr
	}
	return r.applyStep(ctx, s)
}
