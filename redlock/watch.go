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
			w.cancel(w.expiring())
			return
		}
	}
}

// keep extends again and again. After a failure less validity is left, so
// the third of it comes sooner. What is to end now is the guard's: whether it is
// extended once more must not depend on which of the two wakes up first.
func (w *watch) keep() {
	for w.wait(w.lease.Validity()/3) && w.lease.Validity() > w.margin() {
		err := w.extend(w.ctx)
		w.mu.Lock()
		w.failure = err
		w.mu.Unlock()
		switch {
		case errors.Is(err, ErrLost):
			w.cancel(err)
			return
		case errors.Is(err, ErrBounded):
			return // the guard ends the context when the time has come
		}
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
