package redlock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// poll is one command put to the nodes, and the count of what they say.
type poll struct {
	calls []call // by node

	mu      sync.Mutex
	ballot                // guarded by mu until the poll is closed
	closed  bool          // the ballot is settled or given up: later answers do not count
	over    chan struct{} // closed with it
	asked   int           // so many nodes have been asked, in the list's order
	stopped bool          // no other will be
}

// newPoll makes a poll that ends as b does.
func newPoll(b ballot) *poll {
	return &poll{calls: make([]call, len(b.votes)), ballot: b, over: make(chan struct{})}
}

// command is what a poll asks of a node.
type command func(*node, context.Context, *Lease) (vote, error)

// ask puts a command to all nodes, a goroutine each, on a context that outlives
// the caller's: a command that was sent may take effect whether or not we wait
// for it, so we had better learn what became of it. Where a command of another
// poll is still under way, ours gives it a moment to return first.
func (r *Redlock) ask(ctx context.Context, l *Lease, p, after *poll, name string, command command) {
	ctx, cancel := r.outliving(ctx, l)
	p.asked = len(r.nodes)
	var left atomic.Int32
	left.Store(int32(len(r.nodes)))
	for i, n := range r.nodes {
		one := func() {
			told := r.answering(ctx, name, l)
			vote, err := command(n, ctx, l)
			told(answer{i, vote, err})
			next := p.answered(answer{i, vote, err})
			if left.Add(-1) == 0 {
				cancel()
			}
			if next != nil {
				next()
			}
		}
		if after == nil || r.batchWait == 0 {
			r.start(one)
		} else {
			r.follow(&after.calls[i], r.batchWait, one)
		}
	}
}

// askInTurn puts a command to one node after the other, to each for at most the
// node timeout, and to none once the poll is lost or stopped: what they would
// grant would only be in others' way.
func (r *Redlock) askInTurn(ctx context.Context, l *Lease, p *poll, name string, command command) {
	ctx, cancel := r.outliving(ctx, l)
	r.work.Go(func() {
		defer cancel()
		for i := 0; i < len(r.nodes) && p.proceed(); i++ {
			one, end := ctx, func() {}
			if r.on(NodeTimeout) {
				one, end = context.WithTimeout(ctx, r.timeoutAt(l.ttl))
			}
			told := r.answering(ctx, name, l)
			vote, err := command(r.nodes[i], one, l)
			told(answer{i, vote, err})
			end()
			if next := p.answered(answer{i, vote, err}); next != nil {
				next()
			}
		}
	})
}

// outliving is the context of a poll's commands. Answers are awaited past the
// TTL, for as long again as a node may take: the elapsed check is what turns late
// ones down, not a context.
func (r *Redlock) outliving(ctx context.Context, l *Lease) (context.Context, context.CancelFunc) {
	return background(ctx, l.ttl+r.timeoutAt(l.ttl))
}

// answered notes a node's answer and returns what is to follow, nil if nothing is.
func (p *poll) answered(a answer) (next func()) {
	next = p.calls[a.node].end(a)
	p.receive(a)
	return next
}

// proceed reports whether the next node is to be asked.
func (p *poll) proceed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.closed && !p.granted() {
		return false
	}
	p.asked++
	return true
}

// stop leaves out the nodes that have not been asked.
func (p *poll) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// leftOut reports whether a node has not been asked, nor will be once the poll is
// lost or stopped.
func (p *poll) leftOut(node int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return node >= p.asked
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

// collect waits until the ballot is settled, timeout is over, or ctx or
// the lock ends; only the last two are errors. What the ballot says does not
// change any more.
func (r *Redlock) collect(ctx context.Context, p *poll, timeout time.Duration) error {
	var limit <-chan time.Time
	if r.on(NodeTimeout) {
		timer := r.clock.NewTimer(timeout)
		defer timer.Stop()
		limit = timer.C()
	}
	var cut error
	select {
	case <-p.over:
		return nil
	case <-limit:
		p.abandon(fmt.Errorf("%w of %s", ErrNodeTimeout, timeout))
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
