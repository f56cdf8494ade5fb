package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// answer is one node's vote with, for no and failed, its cause.
type answer struct {
	node int
	vote vote
	err  error
}

// poll is one command put to all nodes at once.
type poll struct {
	// answers gets each node's answer once, in the order of arrival. It has room
	// for all, so that nobody need read it.
	answers chan answer
	calls   []call
}

// call is the command to one node: result may be read once done is closed.
type call struct {
	done   chan struct{}
	result answer
}

// ask puts a command to all nodes, a goroutine each, on a context that outlives
// the caller's: a command that was sent may take effect whether or not we wait
// for it, so we had better learn what became of it.
func (r *Redlock) ask(ctx context.Context, l *Lease, command func(*node, context.Context, *Lease) (vote, error)) *poll {
	p := &poll{answers: make(chan answer, len(r.nodes)), calls: make([]call, len(r.nodes))}
	for i := range p.calls {
		p.calls[i].done = make(chan struct{})
	}
	// Answers are awaited past the TTL, for as long again as a node may take: the
	// elapsed check is what turns late ones down, not a context.
	ctx, cancel := background(ctx, l.ttl+r.patience(l.ttl))
	var left atomic.Int32
	left.Store(int32(len(r.nodes)))
	call := func(ctx context.Context, i int) {
		growStack()
		vote, err := command(r.nodes[i], ctx, l)
		c := &p.calls[i]
		c.result = answer{i, vote, err}
		close(c.done)
		p.answers <- c.result
		if left.Add(-1) == 0 {
			cancel()
		}
	}
	if r.inTurn {
		r.work.Go(func() { r.inOrder(ctx, l, call) })
		return p
	}
	for i := range r.nodes {
		r.work.Go(func() { call(ctx, i) })
	}
	return p
}

// inOrder calls one node after the other, for each at most the node timeout.
func (r *Redlock) inOrder(ctx context.Context, l *Lease, call func(context.Context, int)) {
	for i := range r.nodes {
		one, cancel := ctx, func() {}
		if r.on(NodeTimeout) {
			one, cancel = context.WithTimeout(ctx, r.patience(l.ttl))
		}
		call(one, i)
		cancel()
	}
}

// returned reports whether the call is over.
func (c *call) returned() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// returnsWithin waits for the end of the call, but no longer than d, and reports
// whether it is over.
func (c *call) returnsWithin(d time.Duration) bool {
	if d == 0 || c.returned() {
		return c.returned()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return c.returned()
	}
}

// ballot counts the answers to one poll.
type ballot struct {
	need    int
	votes   []answer // by node; the zero vote is pending
	counts  [failed + 1]int
	refusal error // a node's answer that no other can outvote
}

func (r *Redlock) newBallot(need int) *ballot {
	b := &ballot{need: need, votes: make([]answer, len(r.nodes))}
	b.counts[pending] = len(r.nodes)
	return b
}

func (b *ballot) count(a answer) {
	b.votes[a.node] = a
	b.counts[pending]--
	b.counts[a.vote]++
	if errors.Is(a.err, ErrDuplicateNode) {
		b.refusal = a.err
	}
}

// giveUp counts the nodes that have not answered as failed, for this cause.
func (b *ballot) giveUp(cause error) {
	for i, v := range b.votes {
		if v.vote == pending {
			b.count(answer{i, failed, cause})
		}
	}
}

// can reports whether n of this vote may still come together.
func (b *ballot) can(v vote, n int) bool { return b.counts[v]+b.counts[pending] >= n }

// granted reports whether enough nodes said yes.
func (b *ballot) granted() bool { return b.counts[yes] >= b.need }

// agreed reports whether it is known what enough nodes say, yes or no, or that
// it cannot be known any more.
func (b *ballot) agreed(majority int) bool {
	return b.granted() || b.counts[no] >= majority || !b.can(yes, b.need) && !b.can(no, majority)
}

// collect reads answers until the ballot is settled, the node timeout has
// passed, or ctx or the lock ends; only the last two are errors. Without the
// rule NodeTimeout it hears out every node.
func (r *Redlock) collect(ctx context.Context, b *ballot, answers <-chan answer, ttl time.Duration, settled func() bool) error {
	var limit <-chan time.Time
	if r.on(NodeTimeout) {
		timer := r.clock.NewTimer(r.hearing(ttl))
		defer timer.Stop()
		limit = timer.C()
	} else {
		settled = func() bool { return b.counts[pending] == 0 }
	}
	for b.refusal == nil && !settled() {
		select {
		case a := <-answers:
			b.count(a)
		case <-limit:
			b.drain(answers)
			b.giveUp(fmt.Errorf("%w of %s", ErrNodeTimeout, r.hearing(ttl)))
			return nil
		case <-ctx.Done():
			return b.interrupt(answers, settled, ended(ctx))
		case <-r.closing:
			return b.interrupt(answers, settled, ErrClosed)
		}
	}
	return nil
}

// hearing is for how long answers to one poll are awaited.
func (r *Redlock) hearing(ttl time.Duration) time.Duration {
	if r.inTurn {
		return r.patience(ttl) * time.Duration(len(r.nodes))
	}
	return r.patience(ttl)
}

// interrupt ends a ballot early, unless what has arrived settles it: select
// picks at random among what is ready, and an outcome must not depend on that.
func (b *ballot) interrupt(answers <-chan answer, settled func() bool, err error) error {
	b.drain(answers)
	if b.refusal != nil || settled() {
		return nil
	}
	b.giveUp(errUnanswered)
	return err
}

// drain counts what has arrived.
func (b *ballot) drain(answers <-chan answer) {
	for {
		select {
		case a := <-answers:
			b.count(a)
		default:
			return
		}
	}
}

// failure is the ballot as an error.
func (r *Redlock) failure(op string, l *Lease, b *ballot, reason, ended error) *AttemptError {
	e := &AttemptError{Op: op, Key: l.key, Need: b.need, Got: b.counts[yes], Reason: reason, Ended: ended}
	for i, v := range b.votes {
		if v.vote == no || v.vote == failed {
			e.Nodes = append(e.Nodes, NodeError{Node: i, Addr: r.nodes[i].addr, Err: v.err})
		}
	}
	return e
}
