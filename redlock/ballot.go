package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// answer is one node's vote with, for no and failed, its cause.
type answer struct {
	node int
	vote vote
	err  error
}

// poll is one command put to all nodes at once, and the count of what they say.
type poll struct {
	calls []call

	mu      sync.Mutex
	ballot                     // guarded by mu until it is closed
	settled func(*ballot) bool // whether no further answer matters
	// over is closed once the ballot is settled or given up; answers that come
	// later do not count.
	over   chan struct{}
	closed bool
}

// ask puts a command to all nodes, a goroutine each, on a context that outlives
// the caller's: a command that was sent may take effect whether or not we wait
// for it, so we had better learn what became of it.
func (r *Redlock) ask(ctx context.Context, l *Lease, b ballot, settled func(*ballot) bool, command func(*node, context.Context, *Lease) (vote, error)) *poll {
	p := &poll{calls: make([]call, len(r.nodes)), ballot: b, settled: settled, over: make(chan struct{})}
	if !r.on(NodeTimeout) {
		p.settled = (*ballot).complete
	}
	// Answers are awaited past the TTL, for as long again as a node may take: the
	// elapsed check is what turns late ones down, not a context.
	ctx, cancel := background(ctx, l.ttl+r.patience(l.ttl))
	var left atomic.Int32
	left.Store(int32(len(r.nodes)))
	call := func(ctx context.Context, i int) {
		growStack()
		vote, err := command(r.nodes[i], ctx, l)
		a := answer{i, vote, err}
		p.calls[i].end(a)
		p.receive(a)
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

// call is the command to one node.
type call struct {
	mu       sync.Mutex
	returned bool
	result   answer        // once it has returned
	done     chan struct{} // closed by then; nil while nobody waits for it
}

// end notes the node's answer.
func (c *call) end(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned, c.result = true, a
	if c.done != nil {
		close(c.done)
	}
}

// outcome returns the node's answer, if there is one.
func (c *call) outcome() (a answer, returned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result, c.returned
}

// wait waits for the node's answer, however long that takes.
func (c *call) wait() answer {
	<-c.ended()
	return c.result
}

// waitFor waits for the node's answer, but no longer than d.
func (c *call) waitFor(d time.Duration) (a answer, returned bool) {
	if a, returned = c.outcome(); returned || d == 0 {
		return a, returned
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ended():
	case <-timer.C:
	}
	return c.outcome()
}

// ended is closed once the call has returned.
func (c *call) ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.returned {
			close(c.done)
		}
	}
	return c.done
}

// ballot counts the answers to one poll.
type ballot struct {
	need     int      // so many must say yes
	majority int      // so many that say no are believed
	votes    []answer // by node; the zero vote is pending
	counts   [failed + 1]int
	refusal  error // a node's answer that no other can outvote
}

func (r *Redlock) newBallot(need int) ballot {
	b := ballot{need: need, majority: r.need, votes: make([]answer, len(r.nodes))}
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

// decided reports whether it is known that enough nodes say yes, or that they
// cannot any more.
func (b *ballot) decided() bool { return b.granted() || !b.can(yes, b.need) }

// complete reports whether all nodes have answered.
func (b *ballot) complete() bool { return b.counts[pending] == 0 }

// agreed reports whether it is known what enough nodes say, yes or no, or that
// it cannot be known any more.
func (b *ballot) agreed() bool {
	return b.granted() || b.counts[no] >= b.majority || !b.can(yes, b.need) && !b.can(no, b.majority)
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
	if p.refusal != nil || p.settled(&p.ballot) {
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
// or the lock ends; only the last two are errors. Without the rule NodeTimeout
// it hears out every node. What the ballot says does not change any more.
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
