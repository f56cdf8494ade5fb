package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var _ = because(ExtendMajority,
	"Where only a minority of keys was prolonged, the majority expires and another client acquires it.",
	page("Making the algorithm more reliable: Extending the lock")+
		": in the majority of the instances, and within the validity time")

// Extend renews the lease for a whole TTL from now, less the margin, if a majority still has the key with our token. A
// failed Extend leaves the validity unchanged, except for ErrLost: a majority does not have the key, so another client
// may, and the lease is over. A lease past its validity may be extended: a key that still has our token has been ours
// without a break. Its holder must have stopped in the meantime all the same.
func (l *Lease) Extend(ctx context.Context) error {
	r := l.lock
	if err := r.enter("extend", l.key, l.ttl); err != nil {
		return err
	}
	defer r.work.Done()
	p := r.newPoll(true)
	if !r.on(ExtendMajority) {
		p.need = 1
	}
	select {
	case l.extending <- struct{}{}: // one after another
		defer func() { <-l.extending }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return l.errorOf("extend", p, nil, r.ended(ctx))
	}
	if err := l.countExtension(); err != nil {
		return err
	}
	start := r.now()
	r.broadcast(ctx, l, p, l.extend)
	err := l.outcome(ctx, "extend", p)
	switch {
	case err == nil:
		if reason := l.validate(start); reason != nil {
			return l.errorOf("extend", p, reason, nil)
		}
	case errors.Is(err, ErrLost):
		if l.end(err) == ErrReleased { // our own release deleted the keys
			return l.errorOf("extend", p, ErrReleased, nil)
		}
		l.releaseAll(ctx) // some nodes may have prolonged the key
	}
	return err
}

var _ = because(BoundedExtensions,
	"A worker that hangs while its watchdog goes on extending would keep the lock for ever.",
	page("Making the algorithm more reliable: Extending the lock")+
		": the number of attempts should be limited, otherwise a liveness property is violated")

// countExtension admits one more. Each one sent counts: even if its replies are lost, it keeps other clients out.
func (l *Lease) countExtension() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r := l.lock; {
	case l.why == ErrReleased:
		return fmt.Errorf("redlock: extend %q: %w", l.key, ErrReleased)
	case l.why != nil:
		return l.why
	case r.on(BoundedExtensions) && l.extensions >= r.opt.MaxExtensions:
		return fmt.Errorf("redlock: extend %q: %w: it has had its %d extensions", l.key, ErrBounded, r.opt.MaxExtensions)
	}
	l.extensions++
	return nil
}

var _ = because(ExtendOwnership,
	"After its lease has expired, the key may be another client's; to prolong it proves nothing about our own lease.",
	page("Making the algorithm more reliable: Extending the lock")+
		": if its value is still the one that the client assigned")

func (l *Lease) extend(ctx context.Context, node int) answer {
	c, set := l.claim(), &l.sets[node]
	c.Granted = set.returned() && set.answer.vote == yes
	if !l.lock.on(ExtendOwnership) {
		c.Token = ""
	}
	return owned(l.lock.nodes[node].ExpireIfEqual(ctx, c))
}

// Watch extends the lease after each third of the remaining validity and returns a context to work under. The context
// ends before validity does, by 2 % of the TTL and at least 5 ms, or right after a suspend of the machine in which
// validity ended. context.Cause is ErrLost, ErrExpiring with the last extension's error, ErrReleased, ErrClosed or the
// parent's. The holder must then stop, and release: failed extensions may have prolonged keys.
func (l *Lease) Watch(parent context.Context) context.Context { return l.WatchBy(parent, l.Extend) }

// WatchBy is Watch with the caller's extend, which observes each extension and must call Extend.
func (l *Lease) WatchBy(parent context.Context, extend func(context.Context) error) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{Lease: l, extend: extend, ctx: ctx, cancel: cancel, margin: max(l.ttl/50, 5*time.Millisecond)}
	if err := l.lock.enter("watch", l.key, l.ttl); err != nil {
		cancel(err)
		return ctx
	}
	defer l.lock.work.Done()
	l.lock.work.Go(w.guard)
	l.lock.work.Go(w.keep)
	return ctx
}

type watch struct {
	*Lease
	extend func(context.Context) error
	ctx    context.Context
	cancel context.CancelCauseFunc
	margin time.Duration // the context ends this long before validity

	failure error // of the last extension; guarded by the lease's mu
}

// recheck is how often guard reads the clock: timers stand still while the machine is suspended.
const recheck = 100 * time.Millisecond

// guard ends the context in time, even while an extension hangs.
func (w *watch) guard() {
	for {
		left := w.Validity() - w.margin
		if w.ended() { // asked after Validity, which a release or a loss ends too
			return
		}
		if left <= 0 {
			break
		}
		w.lock.sleep(min(left, recheck), w.ctx.Done(), w.over, w.lock.closing)
	}
	w.mu.Lock()
	cause := fmt.Errorf("redlock: watch %q: %w", w.key, ErrExpiring)
	if w.failure != nil {
		cause = fmt.Errorf("%w: %w", cause, w.failure)
	}
	w.mu.Unlock()
	w.cancel(cause)
}

// keep extends the lease. After a failure less validity is left, so the next try comes sooner. Within the margin it
// stops: guard is about to end the context.
func (w *watch) keep() {
	for {
		w.lock.sleep(w.Validity()/3, w.ctx.Done(), w.over, w.lock.closing)
		if w.ended() || w.Validity() <= w.margin {
			return
		}
		err := w.extend(w.ctx)
		w.mu.Lock()
		w.failure = err
		w.mu.Unlock()
		switch {
		case w.ended() || errors.Is(err, ErrBounded):
			return
		case errors.Is(err, ErrLost): // says the caller's extend
			w.cancel(err)
			return
		}
	}
}

// ended ends the context if the lease or the lock has ended. It reports whether the context has ended.
func (w *watch) ended() bool {
	select {
	case <-w.over:
		w.mu.Lock()
		cause := w.why
		w.mu.Unlock()
		w.cancel(cause)
	case <-w.lock.closing:
		w.cancel(ErrClosed)
	default:
	}
	return w.ctx.Err() != nil
}
