package redlock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// vote is what one node's answer counts for.
type vote int8

const (
	pending vote = iota // no answer yet
	yes                 // taken, extended, deleted
	no                  // the key is another's, or not ours
	failed              // unknown whether it took effect
)

type answer struct {
	vote vote
	err  error // the reason of a no or a failure
}

var errNotOurs = errors.New("the key is not ours")

// owned is the vote of DeleteIfEqual and ExpireIfEqual.
func owned(equal bool, err error) answer {
	switch {
	case err != nil:
		return failure(err)
	case !equal:
		return answer{no, errNotOurs}
	}
	return answer{vote: yes}
}

// failure keeps only the text of a context's error: our own limit on a call, or a dial's timeout, must not look like
// the end of the caller's context.
func failure(err error) answer {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %v", ErrNodeTimeout, err)
	}
	return answer{failed, err}
}

// poll is one request to all nodes, and the count of their votes.
type poll struct {
	need, quorum int  // yes votes to win; no votes that are believed
	believeNo    bool // once lost, continues until a majority has said no
	everybody    bool // ends only when all have answered

	mu      sync.Mutex
	answers []answer // by node
	counts  [failed + 1]int
	refusal error // wraps ErrRefused
	closed  bool  // later votes do not count
	over    chan struct{}
}

func (r *Redlock) newPoll(believeNo bool) *poll {
	p := &poll{need: r.quorum, quorum: r.quorum, believeNo: believeNo, everybody: !r.on(NodeTimeout),
		answers: make([]answer, len(r.nodes)), over: make(chan struct{})}
	p.counts[pending] = len(r.nodes)
	return p
}

func (p *poll) granted() bool          { return p.counts[yes] >= p.need }
func (p *poll) refused() bool          { return p.counts[no] >= p.quorum }
func (p *poll) can(v vote, n int) bool { return p.counts[v]+p.counts[pending] >= n }

// settled reports whether no further vote matters.
func (p *poll) settled() bool {
	switch lost := !p.can(yes, p.need); {
	case p.refusal != nil || p.counts[pending] == 0:
		return true
	case p.everybody:
		return false
	case p.believeNo:
		return p.granted() || p.refused() || lost && !p.can(no, p.quorum)
	default:
		return p.granted() || lost
	}
}

// broadcast sends a request to all nodes at once. Its context outlives the caller's, and the TTL: a command that was
// sent may take effect although nobody waits for it. The elapsed time refuses a late yes, not a context.
func (r *Redlock) broadcast(ctx context.Context, l *Lease, p *poll, request func(context.Context, int) answer) {
	ctx, cancel := background(ctx, l.ttl+r.nodeTimeout(l.ttl))
	var left atomic.Int32
	left.Store(int32(len(r.nodes)))
	for i := range r.nodes {
		r.work.Go(func() {
			growStack()
			p.count(i, request(ctx, i))
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
}

// growStack grows a new goroutine's stack to the size that a call to a node needs. Growth in steps moves all frames
// each time: measured, an acquire and release on five local servers then take a sixth longer.
//
//go:noinline
func growStack() {
	var room [4 << 10]byte
	runtime.KeepAlive(&room)
}

// background keeps the caller's values. Its own timeout only frees the client library's resources.
func background(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}

func (p *poll) count(node int, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.add(node, a)
	if p.closed = p.settled(); p.closed {
		close(p.over)
	}
}

func (p *poll) add(node int, a answer) {
	p.answers[node] = a
	p.counts[pending]--
	p.counts[a.vote]++
	if errors.Is(a.err, ErrRefused) {
		p.refusal = a.err
	}
}

// abandon counts nodes without an answer as failed. It reports whether the poll was open: if several channels are
// ready, select picks one at random, and the outcome must not depend on that.
func (p *poll) abandon(cause error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	for i, a := range p.answers {
		if a.vote == pending {
			p.add(i, answer{failed, cause})
		}
	}
	p.closed = true
	close(p.over)
	return true
}

var _ = because(NodeTimeout,
	"A hung node must not hold up an attempt that the other nodes can decide. go-redis ignores context "+
		"deadlines while it reads unless ContextTimeoutEnabled is set, so the limit is enforced here.",
	page("The Redlock Algorithm")+", step 2; measured: one hung node of five made a lock of 4 s fail after 20 s")

// wait waits until the poll is settled, for the node timeout at most; then its votes are final. It returns an error if
// the caller's context or the lock ended first.
func (r *Redlock) wait(ctx context.Context, l *Lease, p *poll) error {
	timeout := r.nodeTimeout(l.ttl)
	if !r.on(NodeTimeout) {
		timeout = 1 << 60
	}
	if r.sleep(timeout, p.over, ctx.Done(), r.closing) {
		p.abandon(fmt.Errorf("%w of %s", ErrNodeTimeout, timeout))
		return nil
	}
	if !p.abandon(errors.New("had not answered yet")) {
		return nil
	}
	return r.ended(ctx)
}

// nodeTimeout is a twentieth of the TTL unless set; on the page it is 5 to 50 ms at a TTL of 10 s.
func (r *Redlock) nodeTimeout(ttl time.Duration) time.Duration {
	if r.opt.NodeTimeout > 0 {
		return r.opt.NodeTimeout
	}
	return max(time.Millisecond, min(50*time.Millisecond, ttl/20))
}

// errorOf turns a poll that is over into an error.
func (l *Lease) errorOf(op string, p *poll, reason, ended error) *AttemptError {
	e := &AttemptError{Op: op, Key: l.key, Need: p.need, Got: p.counts[yes], Reason: reason, Ended: ended}
	for i, a := range p.answers {
		if a.err != nil {
			e.Nodes = append(e.Nodes, fmt.Errorf("node %d%s: %w", i, l.lock.name(i), a.err))
		}
	}
	return e
}
