package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/nemesis"
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
// stops, and the fault begins. A command of a client that is to resume leaves only then: so a process that stops just
// before it sends is tested too, and one that reads its timeout before its reply hides nothing of it. If the operation
// has fewer messages, the trial shows nothing.
func (r *run) interrupted(ctx context.Context, name string, s scenarios.Step,
	send func() (<-chan client.Message, error)) error {
	delete(r.armed, name)
	s.Targets = []string{name}
	reached, messages := make(chan struct{}), 0
	var counting sync.Mutex
	var stopErr error
	links := r.linksOf(name)
	observe := func(f func() bool) {
		for _, l := range links {
			l.Observe(f)
		}
	}
	observe(func() (hold bool) {
		counting.Lock()
		defer counting.Unlock()
		if messages++; messages != r.plan.Job.Message {
			return false
		}
		stopErr = r.clients.Pause(name)
		close(reached)
		return s.Fault().EndedBy == nemesis.Resume
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
	r.clients.beforeResume(name, func() error {
		var errs []error
		for _, l := range links {
			_, err := l.LetGo()
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return r.applyStep(ctx, s)
}

// linksOf are a client's links to the servers.
func (r *run) linksOf(name string) (links []cluster.Link) {
	for _, node := range r.plan.Servers() {
		if l := r.cluster.Link(name, node); l != nil {
			links = append(links, l)
		}
	}
	return links
}
