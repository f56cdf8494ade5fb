package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Acquire takes the lock on key for ttl, in attempts with a random delay
// between them, until one succeeds, the tries are used up or ctx ends. The TTL
// counts in whole milliseconds; a fraction is dropped. Errors are *AttemptError,
// except for bad arguments, ErrClosed, and a random source that fails; where
// ctx ended, errors.Is finds its error, and Reason and Nodes tell the last
// attempt that was decided. ErrDuplicateNode is not tried again.
func (r *Redlock) Acquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	return r.acquire(ctx, key, ttl, r.tries)
}

// TryAcquire is Acquire with one attempt.
func (r *Redlock) TryAcquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	return r.acquire(ctx, key, ttl, 1)
}

func (r *Redlock) acquire(ctx context.Context, key string, ttl time.Duration, tries int) (*Lease, error) {
	ttl = ttl.Truncate(time.Millisecond)
	if err := r.check(key, ttl); err != nil {
		return nil, err
	}
	if err := r.admit(key, ttl); err != nil {
		return nil, err
	}
	defer r.end()
	ctx, observed := r.observe(ctx, "acquire", key, ttl)
	l, try, err := r.attempts(ctx, key, ttl, tries)
	if err != nil {
		observed.done(try, 0, err)
		return nil, err
	}
	r.warnIfNarrow(ctx, l)
	if observed != nil {
		observed.done(try, l.Validity(), nil)
	}
	return l, nil
}

// attempts makes attempts until one is the last; it is that many.
func (r *Redlock) attempts(ctx context.Context, key string, ttl time.Duration, tries int) (l *Lease, try int, err error) {
	var token string
	var last *AttemptError
	for try = 1; ; try++ {
		if token == "" || r.on(FreshToken) {
			if token, err = r.newToken(); err != nil {
				return nil, try, err
			}
		}
		l := r.newLease(key, token, ttl)
		failure := l.attempt(ctx)
		if failure == nil {
			return l, try, nil
		}
		last = later(last, failure)
		last.Tries = try
		if failure.Ended != nil || errors.Is(failure.Reason, ErrDuplicateNode) || try == tries {
			return nil, try, last
		}
		if last.Ended, err = r.pause(ctx); err != nil {
			return nil, try, err
		}
		if last.Ended != nil {
			return nil, try, last
		}
	}
}

// later is the attempt to report: the last, unless it was cut short and there
// is one before it that was not.
func later(before, last *AttemptError) *AttemptError {
	if before != nil && last.Reason == nil {
		before.Ended = last.Ended
		return before
	}
	return last
}

// check refuses arguments with which no acquire can succeed.
func (r *Redlock) check(key string, ttl time.Duration) error {
	if key == "" {
		return errors.New("redlock: acquire: the key is empty")
	}
	if ttl < time.Millisecond || ttl <= r.margin(ttl) {
		return fmt.Errorf("redlock: acquire %q: a TTL of %s leaves no validity: a margin of %s is set aside for clock drift",
			key, ttl, r.margin(ttl))
	}
	if r.guarded() && ttl > r.longestTTL {
		return fmt.Errorf("redlock: acquire %q: a TTL of %s is longer than WithRestartGuard says that any is: %s", key, ttl, r.longestTTL)
	}
	return nil
}

// admit begins an acquire, unless the lock is closed or its list is wrong.
func (r *Redlock) admit(key string, ttl time.Duration) error {
	if err := r.begin(); err != nil {
		return fmt.Errorf("redlock: acquire %q: %w", key, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.duplicate != nil {
		r.end()
		return &AttemptError{Op: "acquire", Key: key, Need: r.need, Reason: r.duplicate}
	}
	r.longest = max(r.longest, ttl)
	return nil
}

// pause waits before the next attempt. It returns why the wait was cut short,
// if it was, or the random source's error.
func (r *Redlock) pause(ctx context.Context) (cut, err error) {
	delay, err := r.retryDelay()
	if err != nil {
		return nil, err
	}
	timer := r.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil, nil
	case <-ctx.Done():
		return ended(ctx), nil
	case <-r.closing:
		return ErrClosed, nil
	}
}

// attempt tries once to take the lease's key on a majority, and takes it back
// in the background, on a context of its own, if that fails or is cut short.
func (l *Lease) attempt(ctx context.Context) *AttemptError {
	r := l.lock
	l.sets = newPoll(r.newBallot(r.need, (*ballot).decided))
	if ctx.Err() != nil {
		return r.failure("acquire", l, &l.sets.ballot, nil, ended(ctx))
	}
	l.began = r.now()
	limit := r.timeoutAt(l.ttl)
	if r.inTurn {
		limit *= time.Duration(len(r.nodes))
		r.askInTurn(ctx, l, l.sets, "acquire", (*node).set)
	} else {
		r.ask(ctx, l, l.sets, nil, "acquire", (*node).set)
	}
	cut := r.collect(ctx, l.sets, limit)
	var reason error
	if cut == nil {
		reason = l.judge(&l.sets.ballot)
	}
	if reason == nil && cut == nil {
		return nil
	}
	l.undo(ctx)
	return r.failure("acquire", l, &l.sets.ballot, reason, cut)
}

// judge decides a ballot on an acquire and, if it is won, sets the deadline.
func (l *Lease) judge(b *ballot) error {
	r := l.lock
	spare := len(r.nodes) - b.need // so many may say anything but yes
	switch {
	case b.refusal != nil:
		return b.refusal
	case b.granted():
		l.deadline = r.deadline(l.began, l.ttl)
		if now := r.now(); l.deadline <= now {
			return tooLate(now-l.began, l.ttl)
		}
		return nil
	case b.counts[failed] > spare && b.counts[no] <= spare:
		return ErrNoMajority
	default:
		return ErrHeld
	}
}
