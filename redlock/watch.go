package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Watch keeps the lease extended in the background, each time a third of the
// validity that is left has passed, and returns a context to work under. That
// context ends, with a cause, before validity does: a guard of 2 % of the TTL,
// but at least 5 ms, ahead of it. The cause (see context.Cause) is ErrLost as
// soon as a majority says that the key is not ours; ErrExpiring, together with
// the last failed extension's error, where no extension came through in time or
// none is left (ErrBounded); ErrReleased after Release; ErrClosed after Close;
// or the parent's. Watching ends with it.
//
// Where an extension failed, the nodes that it reached have the key for another TTL. So
// once the lease is over they are released, unless it has been extended or released by
// then.
//
// The holder must stop its work when the context ends. A process that is
// suspended cannot see it end: where that matters, the store must check.
func (l *Lease) Watch(parent context.Context) context.Context { return l.WatchBy(parent, l.Extend) }

// WatchBy is Watch with the caller's extend in place of Extend, which it is to
// call: so the caller sees each extension as it is made.
func (l *Lease) WatchBy(parent context.Context, extend func(context.Context) error) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{lease: l, extend: extend, ctx: ctx, cancel: cancel}
	if err := l.lock.enter(); err != nil {
		cancel(err)
		return ctx
	}
	defer l.lock.work.Done()
	l.lock.work.Go(w.guard)
	l.lock.work.Go(w.keep)
	return ctx
}

type watch struct {
	lease  *Lease
	extend func(context.Context) error
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	failure error // of the last extension; nil if it came through
	open    bool  // an extension that was sent has not come through, and none since
}

// margin is how far ahead of the end of validity the context ends.
func (w *watch) margin() time.Duration {
	return max(w.lease.ttl/50, 5*time.Millisecond)
}

// guard ends the context in time, whatever extensions are doing.
func (w *watch) guard() {
	for {
		left := w.lease.Validity() - w.margin()
		if !w.wait(left) {
			return
		}
		if w.lease.Validity() <= w.margin() && w.goesOn() {
			cause := w.expiring()
			w.cancel(cause)
			w.warn("a watched lease ends, and is not released", cause)
			w.takeBack()
			return
		}
	}
}

// takeBack releases the lease once it is over, if an extension has failed: on the nodes that
// it reached, the keys would keep everybody out for another TTL, and nobody believes in
// them. A lease that its holder extends or releases in the meantime is left to him.
func (w *watch) takeBack() {
	if !w.prolonged() {
		return
	}
	l := w.lease
	for left := l.Validity(); left > 0; left = l.Validity() {
		timer := l.lock.clock.NewTimer(left)
		select {
		case <-timer.C():
		case <-l.over:
		case <-l.lock.closing:
		}
		timer.Stop()
		select {
		case <-l.over:
			return
		case <-l.lock.closing:
			return
		default:
		}
	}
	l.giveBack(w.ctx)
}

// prolonged reports whether an extension has been sent of which no majority came.
func (w *watch) prolonged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

// keep extends again and again. After a failure less validity is left, so
// the third of it comes sooner. What is to end now is the guard's: whether it is
// extended once more must not depend on which of the two wakes up first.
func (w *watch) keep() {
	for w.wait(w.lease.Validity()/3) && w.lease.Validity() > w.margin() {
		before := w.begin()
		err := w.extend(w.ctx)
		w.note(err, before)
		switch {
		case errors.Is(err, ErrLost):
			w.cancel(err)
			w.warn("a watched lease is lost", err)
			return // Extend has released what is left
		case errors.Is(err, ErrBounded):
			return // the guard ends the context when the time has come
		case err != nil && w.ctx.Err() == nil:
			w.warn("an extension has failed, and is tried again", err)
		}
	}
}

// begin notes that an extension is on its way, and returns what was known before.
func (w *watch) begin() (before bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, w.open = w.open, true
	return before
}

// note takes in what came of it.
func (w *watch) note(err error, before bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = err
	switch {
	case err == nil:
		w.open = false
	case errors.Is(err, ErrBounded): // it was not sent
		w.open = before
	}
}

// wait waits for d and reports whether watching goes on.
func (w *watch) wait(d time.Duration) bool {
	timer := w.lease.lock.clock.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-w.ctx.Done():
	case <-w.lease.over:
	case <-w.lease.lock.closing:
	}
	return w.goesOn()
}

// goesOn reports whether neither the parent, the lease nor the lock has ended,
// and passes on which it was.
func (w *watch) goesOn() bool {
	select {
	case <-w.lease.over:
		w.cancel(ErrReleased)
	case <-w.lease.lock.closing:
		w.cancel(ErrClosed)
	default:
	}
	return w.ctx.Err() == nil
}

func (w *watch) expiring() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		return fmt.Errorf("redlock: watch %q: %w", w.lease.key, ErrExpiring)
	}
	return fmt.Errorf("redlock: watch %q: %w: %w", w.lease.key, ErrExpiring, w.failure)
}
