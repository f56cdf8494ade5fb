package redlock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// poll is one command put to all nodes at once, and the count of what they say.
type poll struct {
	calls []call // by node

	mu     sync.Mutex
	ballot               // guarded by mu until the poll is closed
	closed bool          // the ballot is settled or given up: later answers do not count
	over   chan struct{} // closed with it
}

// ask puts a command to all nodes, a goroutine each, on a context that outlives
// the caller's: a command that was sent may take effect whether or not we wait
// for it, so we had better learn what became of it. Where a command of another
// poll is still under way, ours gives it a moment to return first.
func (r *Redlock) ask(ctx context.Context, l *Lease, b ballot, after *poll, command func(*node, context.Context, *Lease) (vote, error)) *poll {
	p := &poll{calls: make([]call, len(r.nodes)), ballot: b, over: make(chan struct{})}
	// Answers are awaited past the TTL, for as long again as a node may take: the
	// elapsed check is what turns late ones down, not a context.
	ctx, cancel := background(ctx, l.ttl+r.patience(l.ttl))
	var left atomic.Int32
	left.Store(int32(len(r.nodes)))
	call := func(ctx context.Context, i int) {
		vote, err := command(r.nodes[i], ctx, l)
		a := answer{i, vote, err}
		next := p.calls[i].end(a)
		p.receive(a)
		if left.Add(-1) == 0 {
			cancel()
		}
		if next != nil {
			next()
		}
	}
	if r.inTurn {
		r.work.Go(func() { r.inOrder(ctx, l, call) })
		return p
	}
	for i := range r.nodes {
		one := func() { call(ctx, i) }
		if after == nil || r.batchWait == 0 {
			r.start(one)
		} else {
			r.follow(&after.calls[i], r.batchWait, one)
		}
	}
	return p
}

// start does something in the background; Close waits for it.
func (r *Redlock) start(do func()) {
	r.work.Go(func() {
		growStack()
		do()
	})
}

// follow does something in the background once a call has returned, or after
// limit if it is not 0.
func (r *Redlock) follow(c *call, limit time.Duration, do func()) {
	r.work.Add(1)
	if !c.then(limit, func() { defer r.work.Done(); do() }) {
		r.work.Done()
		r.start(do)
	}
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

// receive counts an answer, in the goroutine of its call: who waits for the
// ballot need not wake up for each.
func (p *poll) receive(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.count(a)
	if p.settled() {
		p.close()
	}
}

// close ends the count. p.mu is held.
func (p *poll) close() {
	p.closed = true
	close(p.over)
}

// abandon ends the count without the nodes that have not answered, for this
// cause, and reports whether the ballot was not settled before: where several
// things have happened, select picks one at random, and an outcome must not
// depend on that.
func (p *poll) abandon(cause error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.giveUp(cause)
	p.close()
	return true
}

// collect waits until the ballot is settled, the node timeout has passed, or ctx
// or the lock ends; only the last two are errors. What the ballot says does not
// change any more.
func (r *Redlock) collect(ctx context.Context, p *poll, ttl time.Duration) error {
	var limit <-chan time.Time
	if r.on(NodeTimeout) {
		timer := r.clock.NewTimer(r.hearing(ttl))
		defer timer.Stop()
		limit = timer.C()
	}
	var cut error
	select {
	case <-p.over:
		return nil
	case <-limit:
		p.abandon(fmt.Errorf("%w of %s", ErrNodeTimeout, r.hearing(ttl)))
		return nil
	case <-ctx.Done():
		cut = ended(ctx)
	case <-r.closing:
		cut = ErrClosed
	}
	if p.abandon(errUnanswered) {
		return cut
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
