package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Release gives the lock back: the key is deleted on every node, wherever it is
// still ours. It returns as soon as a majority has answered; the rest goes on in
// the background, and does so even if ctx has ended. It returns nil if a
// majority deleted the key; an error that is ErrLost if a majority had it not
// (it expired, or is another's: the work may have been done without the lock);
// an *AttemptError with each node's cause if too few nodes answered; and
// ErrReleased if it was called before. Whatever it returns, the lease is over
// for its holder.
func (l *Lease) Release(ctx context.Context) error {
	r := l.lock
	if err := r.begin(); err != nil {
		return fmt.Errorf("redlock: release %q: %w", l.key, err)
	}
	defer r.end()
	ctx, observed := r.observe(ctx, "release", l.key, l.ttl)
	err := l.release(ctx)
	observed.done(1, 0, err)
	return err
}

// release is Release once the lock has admitted it.
func (l *Lease) release(ctx context.Context) error {
	r := l.lock
	if !l.end() {
		return fmt.Errorf("redlock: release %q: %w", l.key, ErrReleased)
	}
	p := l.giveBack(ctx)
	cut := r.collect(ctx, p, r.timeoutAt(l.ttl))
	switch b := &p.ballot; {
	case cut != nil:
		return r.failure("release", l, b, nil, cut)
	case b.granted():
		return nil
	case b.counts[no] >= r.need:
		return r.failure("release", l, b, ErrLost, nil)
	default:
		return r.failure("release", l, b, ErrNoMajority, nil)
	}
}

// end marks the lease as released; it reports whether it was not before.
func (l *Lease) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return false
	}
	l.released = true
	close(l.over)
	return true
}

// giveBack undoes a lease that was granted. Once is enough, whoever finds first that it is
// over, its holder or an extension: what does not answer is asked again anyhow.
func (l *Lease) giveBack(ctx context.Context) *poll {
	l.back.Do(func() { l.undone = l.undo(ctx) })
	return l.undone
}

// undo releases all nodes in the background; each one's first answer counts. A
// SET that has not returned may have taken the key already, its reply lost; or it
// is still on its way and lands after a release that overtakes it. So it is given
// a moment; then the node is released whatever became of it, and again once the
// SET's fate is known. A node that has no key while its SET is out is released in
// between as well: the SET may be slow and its reply lost.
func (l *Lease) undo(ctx context.Context) *poll {
	r, sets := l.lock, l.sets
	sets.stop()
	if !r.on(ReleaseAfterSet) {
		sets = nil
	}
	p := newPoll(r.newBallot(r.need, (*ballot).agreed))
	r.ask(ctx, l, p, sets, "release", (*node).undo)
	return p
}

// undo releases one node.
func (n *node) undo(ctx context.Context, l *Lease) (vote, error) {
	r, set := l.lock, &l.sets.calls[n.index]
	if l.sets.leftOut(n.index) {
		return no, errNotOurs
	}
	taken, returned := set.outcome()
	if returned && errors.Is(taken.err, errNotSent) {
		return no, errNotOurs
	}
	if !r.on(ReleaseEverywhere) && taken.vote != yes {
		return failed, errNotAsked
	}
	follows := func() bool { return true }
	if r.on(ReleaseAfterSet) {
		follows = l.undoWhenSilent(ctx, n, returned)
	}
	vote, err := n.delete(ctx, l)
	switch {
	case !follows() || !r.on(ReleaseAfterSet):
	case !returned && vote == no:
		// The SET is on its way, or its reply is lost and it will not return for long.
		l.undoAfterSet(ctx, n, r.timeoutAt(l.ttl))
		return vote, err
	case !returned:
		l.undoAfterSet(ctx, n, 0)
		return vote, err
	case vote == no && taken.vote == failed:
		r.work.Go(func() { l.undoAgain(ctx, n) }) // finding no key proves nothing yet
		return vote, err
	}
	if vote == failed {
		r.work.Go(func() { l.undoAgain(ctx, n) })
	}
	return vote, err
}

// undoWhenSilent releases a node again, after its SET if that has not returned, without
// waiting for the release under way any longer, if that has no answer within the node
// timeout: it may be lost; or its answer is, and the SET lands in the meantime. What it
// returns is to be asked once the release has returned, and says whether it is for the
// caller to see to what follows.
func (l *Lease) undoWhenSilent(ctx context.Context, n *node, returned bool) (follows func() bool) {
	r := l.lock
	var seenTo atomic.Bool
	r.work.Add(1)
	silent := time.AfterFunc(r.timeoutAt(l.ttl), func() {
		defer r.work.Done()
		switch {
		case !seenTo.CompareAndSwap(false, true):
		case returned:
			l.undoAgain(ctx, n)
		default:
			l.undoAfterSet(ctx, n, 0)
		}
	})
	return func() bool {
		if silent.Stop() {
			r.work.Done()
		}
		return seenTo.CompareAndSwap(false, true)
	}
}

// undoAfterSet releases a node once its SET has returned, whatever it returned;
// and, unless wait is 0, also before, after waits that double.
func (l *Lease) undoAfterSet(ctx context.Context, n *node, wait time.Duration) {
	set := &l.sets.calls[n.index]
	l.lock.follow(set, wait, func() {
		taken, returned := set.outcome()
		vote := l.deleteLate(ctx, n) // the wait may have used up the first context
		switch {
		case !returned:
			l.undoAfterSet(ctx, n, 2*wait)
		case vote == failed || vote == no && taken.vote == failed:
			l.undoAgain(ctx, n)
		}
	})
}

// undoAgain repeats a release, at growing distances, until the node answers or
// one TTL has passed, by when the key is gone anyway. Close does not wait for
// the distances: it brings on the last try.
func (l *Lease) undoAgain(ctx context.Context, n *node) {
	r := l.lock
	select {
	case r.retries <- struct{}{}:
		defer func() { <-r.retries }()
	default:
		return
	}
	for part := time.Duration(16); part > 1; part /= 2 {
		last := r.waitClosing(l.ttl / part)
		vote := l.deleteLate(ctx, n)
		if vote != failed || last {
			return
		}
	}
}

// deleteLate releases a node once more, on a context of its own.
func (l *Lease) deleteLate(ctx context.Context, n *node) vote {
	r := l.lock
	bounded, cancel := background(ctx, l.ttl)
	defer cancel()
	if len(r.hooks) == 0 {
		vote, _ := n.delete(bounded, l)
		return vote
	}
	sent := r.clock.Now()
	vote, err := n.delete(bounded, l)
	r.late(ctx, l, answer{n.index, vote, err}, r.clock.Now()-sent)
	return vote
}

// waitClosing waits for d, or until the lock closes, which it reports.
func (r *Redlock) waitClosing(d time.Duration) bool {
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return false
	case <-r.closing:
		return true
	}
}
