package redlock

import (
	"context"
	"time"
)

// Hooks are told what a lock does, for metrics and traces: package redlockotel has
// those of OpenTelemetry. Each may be nil. They are called in the goroutines that do
// the work, at any time and several at once, also after the operation that they are
// about has returned; none must wait.
type Hooks struct {
	// Start is called as an operation begins. The context that it returns, which must
	// come from the one that it is given, is that of the operation's other hooks and of
	// its commands: those of go-redis's own hooks are parts of it.
	Start func(context.Context, Operation) context.Context
	// Done is called as an operation returns.
	Done func(context.Context, Outcome)
	// Answered is called for each node that has answered an attempt, an extension or a
	// release, or whose client has given up; also for those that came too late to count.
	Answered func(context.Context, Answer)
	// ReleasedLate is called for a node that had to be released once more, as the first
	// release was not known to have come after the SET: an acquire was cut short, a reply
	// was lost, or the node was down.
	ReleasedLate func(context.Context, Answer)
}

// Operation is one call of Acquire, TryAcquire, Extend or Release, arguments that
// cannot be and operations after Close excepted.
type Operation struct {
	Name string // acquire, extend, release
	Key  string
	TTL  time.Duration
}

// Outcome is what came of an operation.
type Outcome struct {
	Operation
	Took     time.Duration // on the lock's clock, waits between attempts included
	Tries    int           // attempts of an acquire; 1 for the others
	Validity time.Duration // what is left of the lease; 0 where there is none
	Err      error         // as it was returned
}

// The votes of an Answer.
const (
	VoteYes    = "yes"    // taken, extended, deleted
	VoteNo     = "no"     // the key is another's, or not ours
	VoteFailed = "failed" // whether it took effect is unknown, or it must not count
)

// Answer is what one node has said.
type Answer struct {
	Operation
	Node int    // index in the list given to New
	Addr string // "" if the client does not tell
	Vote string
	Took time.Duration // on the lock's clock, from when the command was ready to be sent
	Err  error         // why not, unless it is a yes
}

// WithHooks has the lock tell what it does. Given again, each of them is told.
func WithHooks(h Hooks) Option {
	return func(o *options) error {
		o.hooks = append(o.hooks, h)
		return nil
	}
}

// observed is an operation that hooks are told of; nil: there are none.
type observed struct {
	lock  *Redlock
	ctx   context.Context // of its hooks
	op    Operation
	began time.Duration // reading of Clock.Now
}

// observe tells the hooks that an operation begins, and returns the context to go on
// with.
func (r *Redlock) observe(ctx context.Context, name, key string, ttl time.Duration) (context.Context, *observed) {
	if len(r.hooks) == 0 {
		return ctx, nil
	}
	op := Operation{name, key, ttl}
	for _, h := range r.hooks {
		if h.Start != nil {
			ctx = h.Start(ctx, op)
		}
	}
	return ctx, &observed{lock: r, ctx: ctx, op: op, began: r.clock.Now()}
}

// done tells them what came of it.
func (o *observed) done(tries int, validity time.Duration, err error) {
	if o == nil {
		return
	}
	for _, h := range o.lock.hooks {
		if h.Done != nil {
			h.Done(o.ctx, Outcome{o.op, o.lock.clock.Now() - o.began, tries, max(validity, 0), err})
		}
	}
}

// answering returns what is to be told a node's answer to a command that is ready to be
// sent.
func (r *Redlock) answering(ctx context.Context, name string, l *Lease) func(answer) {
	if len(r.hooks) == 0 {
		return func(answer) {}
	}
	sent := r.clock.Now()
	return func(a answer) {
		told := r.answerOf(name, l, a, r.clock.Now()-sent)
		for _, h := range r.hooks {
			if h.Answered != nil {
				h.Answered(ctx, told)
			}
		}
	}
}

// late tells the hooks of a release after the first.
func (r *Redlock) late(ctx context.Context, l *Lease, a answer, took time.Duration) {
	for _, h := range r.hooks {
		if h.ReleasedLate != nil {
			h.ReleasedLate(ctx, r.answerOf("release", l, a, took))
		}
	}
}

func (r *Redlock) answerOf(name string, l *Lease, a answer, took time.Duration) Answer {
	return Answer{Operation{name, l.key, l.ttl}, a.node, r.nodes[a.node].addr, votes[a.vote], took, a.err}
}

var votes = [...]string{yes: VoteYes, no: VoteNo, failed: VoteFailed}
