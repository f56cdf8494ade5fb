package redlock

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// Acquire acquires the lock on key for a TTL in whole milliseconds. It retries with a random delay until an attempt
// succeeds, the tries are used up or ctx ends. Its errors are *AttemptError, except for bad arguments, ErrClosed and a
// random source that fails.
func (r *Redlock) Acquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	return r.acquire(ctx, key, ttl, r.opt.Tries)
}

// TryAcquire is Acquire with one attempt.
func (r *Redlock) TryAcquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	return r.acquire(ctx, key, ttl, 1)
}

var _ = because(FreshToken,
	"A release of an earlier attempt that was held up in the network would match, and delete, the key of a "+
		"later attempt that uses the same token.", page("Correct implementation with a single instance")+
		": the value must be unique across all clients and all lock requests; measured for retries with one token")

func (r *Redlock) acquire(ctx context.Context, key string, ttl time.Duration, tries int) (*Lease, error) {
	ttl = ttl.Truncate(time.Millisecond)
	if margin := r.margin(ttl); key == "" || ttl < time.Millisecond || ttl <= margin {
		return nil, fmt.Errorf("redlock: acquire %q for a TTL of %s: want a key, and more than the margin for clock "+
			"drift, %s", key, ttl, margin)
	}
	if err := r.enter("acquire", key, ttl); err != nil {
		return nil, err
	}
	defer r.work.Done()
	var token []byte
	var last *AttemptError
	for try := 1; ; try++ {
		if token == nil || r.on(FreshToken) {
			var err error
			if token, err = r.draw(20); err != nil {
				return nil, err
			}
		}
		l := r.newLease(key, hex.EncodeToString(token), ttl)
		failure := l.attempt(ctx)
		if failure == nil {
			l.tries = try
			return l, nil
		}
		if last == nil || failure.Reason != nil {
			last = failure
		} else { // cut short: the attempt before has the reason
			last.Ended = failure.Ended
		}
		last.Tries = try
		if last.Ended != nil || errors.Is(last.Reason, ErrRefused) || try == tries {
			return nil, last
		}
		if err := r.pause(ctx, last); err != nil {
			return nil, err
		}
	}
}

// attempt sends the SET to all nodes and waits for a majority. A failed or cancelled attempt is released in the
// background.
func (l *Lease) attempt(ctx context.Context) *AttemptError {
	r := l.lock
	p := r.newPoll(false)
	if ctx.Err() != nil {
		return l.errorOf("acquire", p, nil, r.ended(ctx))
	}
	start := r.now()
	r.broadcast(ctx, l, p, l.set)
	cut := r.wait(ctx, l, p)
	var reason error
	if cut == nil {
		if reason = l.judge(p, start); reason == nil {
			return nil
		}
	}
	l.releaseAll(ctx)
	return l.errorOf("acquire", p, reason, cut)
}

// set is one node's vote. Our own token counts as yes: an earlier transmission of this call stored it.
func (l *Lease) set(ctx context.Context, node int) (a answer) {
	switch absent, holder, err := l.lock.nodes[node].SetIfAbsent(ctx, l.claim()); {
	case err != nil:
		a = failure(err)
	case absent || holder == l.token:
		a.vote = yes
	default:
		a = answer{no, fmt.Errorf("held by token %.12q", holder)}
	}
	l.sets[node].answer = a
	close(l.sets[node].done)
	return a
}

// judge decides an attempt by its votes.
func (l *Lease) judge(p *poll, start time.Duration) error {
	spare := len(p.answers) - p.need // this many nodes may refuse or fail
	switch {
	case p.refusal != nil:
		return p.refusal
	case p.granted():
		return l.validate(start)
	case p.counts[failed] > spare && p.counts[no] <= spare:
		return ErrNoMajority
	default:
		return ErrHeld
	}
}

var _ = because(ElapsedCheck,
	"The keys began to expire when the nodes set them, not when their replies were read; replies that were slow, or a "+
		"client that was paused before it read them, have used up validity.", page("The Redlock Algorithm")+
		", steps 1, 3 and 4; the point on which "+antirez+" answers "+kleppmann)

// validate sets the end of a lease whose commands were first sent at start: validity = TTL - elapsed - margin. It
// returns an error if no validity is left.
func (l *Lease) validate(start time.Duration) error {
	r, now := l.lock, l.lock.now()
	if !r.on(ElapsedCheck) {
		start = now
	}
	deadline := start + l.ttl - r.margin(l.ttl)
	if deadline <= now {
		return fmt.Errorf("%w: %s of a TTL of %s had passed", ErrTooLate, now-start, l.ttl)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil { // it was released during the extension
		return l.why
	}
	l.deadline = deadline
	return nil
}

var _ = because(DriftMargin,
	"The client's clock may run slower than a server's, and servers count in whole milliseconds: a lease must "+
		"end on the client before the first of its keys expires.",
	page("Safety arguments")+": MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT")

func (r *Redlock) margin(ttl time.Duration) time.Duration {
	if !r.on(DriftMargin) {
		return 0
	}
	return time.Duration(float64(ttl)*r.opt.Drift) + 2*time.Millisecond
}

var _ = because(MonotonicClock,
	"A wall clock that is set back in mid-acquire hides the time that has passed and makes the client believe "+
		"in a lease that is over. The monotonic clock must not stop in suspend either: the servers' clocks do not.",
	antirez+", on clocks; the sources of lock libraries that read the wall clock")

// now is a reading of the clock from an arbitrary origin.
func (r *Redlock) now() time.Duration {
	if r.on(MonotonicClock) {
		return r.opt.Clock.Now()
	}
	return time.Duration(r.opt.Clock.Wall().UnixNano())
}

func (r *Redlock) draw(n int) ([]byte, error) {
	b := make([]byte, n)
	r.randMu.Lock()
	defer r.randMu.Unlock()
	if _, err := io.ReadFull(r.opt.Rand, b); err != nil {
		return nil, fmt.Errorf("redlock: drawing random bytes: %w", err)
	}
	return b, nil
}

var _ = because(RetryJitter,
	"Clients that failed together and retry together split the nodes again and again, and nobody wins.",
	page("Retry on failure"))

// pause waits before the next attempt. If ctx or Close ends the wait, it records that in last and returns last.
func (r *Redlock) pause(ctx context.Context, last *AttemptError) error {
	width := r.opt.RetryMax - r.opt.RetryMin
	delay := r.opt.RetryMin + width/2
	if r.on(RetryJitter) {
		b, err := r.draw(8)
		if err != nil {
			return err
		}
		part, _ := bits.Mul64(binary.BigEndian.Uint64(b), uint64(width)+1)
		delay = r.opt.RetryMin + time.Duration(part)
	}
	if r.sleep(delay, ctx.Done(), r.closing, nil) {
		return nil
	}
	last.Ended = r.ended(ctx)
	return last
}
