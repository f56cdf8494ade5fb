package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is a granted lock, safe for concurrent use.
type Lease struct {
	lock       *Redlock
	key, token string
	ttl        time.Duration
	tries      int
	sets       []call        // by node
	over       chan struct{} // closed when the lease has been released or lost
	extending  chan struct{} // holds one value while an Extend is under way

	mu         sync.Mutex
	deadline   time.Duration // reading of now at which validity ends
	extensions int           // sent so far
	why        error         // why the lease is over: ErrReleased, or an extension's ErrLost
}

// call is the SET of one node. It may outlast the acquire and the lease.
type call struct {
	done   chan struct{} // closed when it has returned
	answer answer        // valid after done
	repeat sync.Once     // starts the repeated releases of the node
}

func (c *call) returned() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (r *Redlock) newLease(key, token string, ttl time.Duration) *Lease {
	l := &Lease{lock: r, key: key, token: token, ttl: ttl, sets: make([]call, len(r.nodes)),
		over: make(chan struct{}), extending: make(chan struct{}, 1)}
	for i := range l.sets {
		l.sets[i].done = make(chan struct{})
	}
	return l
}

// Key is the locked key.
func (l *Lease) Key() string { return l.key }

// Token is the value at the key: 40 hex digits without an order, so it is not a fencing token.
func (l *Lease) Token() string { return l.token }

// TTL is the key's expiry at its SET.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Tries is the number of attempts of the acquire.
func (l *Lease) Tries() int { return l.tries }

// Validity is the remaining time of the lease. Work on the guarded resource must have ended by then.
func (l *Lease) Validity() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == ErrReleased {
		return 0
	}
	return l.deadline - l.lock.now()
}

// Release deletes the key on every node where it is still ours, and returns once a majority has answered; the rest
// continues in the background, even if ctx has ended. The error is ErrLost if a majority did not have the key: the work
// may have been done without the lock. In any case the lease is over.
func (l *Lease) Release(ctx context.Context) error {
	if err := l.lock.enter("release", l.key, l.ttl); err != nil {
		return err
	}
	defer l.lock.work.Done()
	if l.end(ErrReleased) == ErrReleased {
		return fmt.Errorf("redlock: release %q: %w", l.key, ErrReleased)
	}
	return l.outcome(ctx, "release", l.releaseAll(ctx))
}

// end ends the lease. It returns why the lease was over before, nil if it was not.
func (l *Lease) end(why error) (before error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before = l.why; before == nil {
		l.deadline = min(l.deadline, l.lock.now())
		close(l.over)
	}
	if before != ErrReleased {
		l.why = why
	}
	return before
}

// releaseAll releases all nodes in the background.
func (l *Lease) releaseAll(ctx context.Context) *poll {
	p := l.lock.newPoll(true)
	l.lock.broadcast(ctx, l, p, l.release)
	return p
}

// outcome waits for the votes of an extension or a release.
func (l *Lease) outcome(ctx context.Context, op string, p *poll) error {
	switch cut := l.lock.wait(ctx, l, p); {
	case cut != nil:
		return l.errorOf(op, p, nil, cut)
	case p.granted():
		return nil
	case p.refused():
		return l.errorOf(op, p, ErrLost, nil)
	default:
		return l.errorOf(op, p, ErrNoMajority, nil)
	}
}

var _ = because(ReleaseEverywhere,
	"A node whose reply was lost may have set the key all the same; if it is not released, nobody can have "+
		"that node until the TTL has passed.", page("The Redlock Algorithm")+", step 5, and section \"Releasing the lock\"")

var errNotReleased = errors.New("not released: no known yes (ReleaseEverywhere is off)")

var _ = because(ReleaseAfterSet,
	"Two connections keep no order between them: a release that overtakes its own SET deletes nothing, and "+
		"the SET then leaves a key without an owner for a whole TTL.",
	"measured: returning at majority without this left hundreds of orphaned keys in three seconds, with no fault at all")

// release releases one node. It waits briefly for the node's SET to return. Then it deletes the key whatever the SET's
// result, as the SET may have landed and its reply be lost; and again until the SET can no longer land.
func (l *Lease) release(ctx context.Context, node int) answer {
	r, set := l.lock, &l.sets[node]
	if r.on(ReleaseAfterSet) && r.opt.SetGrace > 0 && !set.returned() {
		r.sleep(r.opt.SetGrace, set.done, nil, nil)
	}
	switch ordered := set.returned(); {
	case ordered && errors.Is(set.answer.err, ErrNotSent):
		return answer{no, errNotOurs}
	case !r.on(ReleaseEverywhere) && !(ordered && set.answer.vote == yes):
		return answer{failed, errNotReleased}
	case !r.on(ReleaseAfterSet):
		return l.delete(ctx, node)
	default:
		return l.deleteSurely(ctx, node, ordered)
	}
}

// deleteSurely deletes the key and, unless it is gone, repeats that in the background. A release without an answer
// within the node timeout may be lost, and is repeated without waiting for it.
func (l *Lease) deleteSurely(ctx context.Context, node int, ordered bool) answer {
	repeat := func() {
		l.sets[node].repeat.Do(func() { l.lock.work.Go(func() { l.repeatDelete(ctx, node, ordered) }) })
	}
	silent := time.AfterFunc(l.lock.nodeTimeout(l.ttl), repeat)
	a := l.delete(ctx, node)
	if !silent.Stop() || !l.gone(node, a.vote, ordered) {
		repeat()
	}
	return a
}

// gone reports whether this vote of a release proves that the key is gone for good. A release is ordered if it was
// sent after its SET had returned. An unordered one proves nothing, nor does an absent key if the SET's outcome is
// unknown.
func (l *Lease) gone(node int, v vote, ordered bool) bool {
	return ordered && (v == yes || v == no && l.sets[node].answer.vote != failed)
}

// repeatDelete deletes the key at intervals until its SET has returned, and then until the key is gone, by its TTL at
// the latest. Waits double, and Close does not wait for them.
func (l *Lease) repeatDelete(ctx context.Context, node int, ordered bool) {
	r, set, first := l.lock, &l.sets[node], l.lock.nodeTimeout(l.ttl)
	retry := func() (gone bool) {
		ctx, cancel := background(ctx, l.ttl)
		defer cancel()
		ordered = set.returned()
		return l.gone(node, l.delete(ctx, node).vote, ordered)
	}
	for wait := first; !ordered; wait *= 2 {
		r.sleep(wait, set.done, nil, nil)
		if retry() {
			return
		}
	}
	select {
	case r.retries[node] <- struct{}{}:
		defer func() { <-r.retries[node] }()
	default: // with so many failures the node is down, and its keys expire
		return
	}
	for wait, open := first, true; wait < 2*l.ttl && open; wait *= 2 {
		if open = r.sleep(wait, r.closing, nil, nil); retry() {
			return
		}
	}
}

var _ = because(CompareAndDelete,
	"After its lease has expired, the key may be another client's; a plain DEL deletes that client's lock.",
	page("Correct implementation with a single instance"))

func (l *Lease) delete(ctx context.Context, node int) answer {
	c := l.claim()
	if !l.lock.on(CompareAndDelete) {
		c.Token = ""
	}
	return owned(l.lock.nodes[node].DeleteIfEqual(ctx, c))
}

func (l *Lease) claim() Claim { return Claim{Key: l.key, Token: l.token, TTL: l.ttl} }
