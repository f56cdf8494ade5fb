package client

import (
	"context"
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// acquireTTLs bounds an acquire of a loop, in TTLs.
const acquireTTLs = 10

// loop repeats rounds of work until stop closes or the client ends.
func (t *thread) loop(l Loop, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-t.ctx.Done():
			return nil
		default:
		}
		pause := t.around(l.Think)
		granted, err := t.round(l)
		if err != nil {
			return err
		}
		if !granted {
			// A lock that refuses at once would be called forever in one instant.
			pause += t.setup.Options.RetryMin
		}
		t.sleep(pause, stop)
	}
}

// round acquires a key, reads, holds, checks, writes and releases. It reports whether the lock was granted; a lock
// that refuses its configuration ends the loop.
func (t *thread) round(l Loop) (granted bool, err error) {
	key := l.Keys[t.draw.IntN(len(l.Keys))]
	hold := t.around(l.Hold)
	limit := acquireTTLs * t.setup.Options.TTL
	outcome := history.TypeFail
	t.within(limit, func(ctx context.Context) { outcome, err = t.acquire(ctx, key) })
	if outcome != history.TypeOK {
		if locks.Reason(err) == history.ReasonRefused {
			return false, fmt.Errorf("loop: the lock refuses: %w", err)
		}
		return false, nil
	}
	held := t.latest
	t.within(limit, func(ctx context.Context) { outcome = t.read(ctx, key, held) })
	// If the validity ends before the work, the client checks its lease then and does not write.
	t.sleep(min(hold, held.lease.Validity()), nil)
	if t.ctx.Err() != nil {
		return true, nil
	}
	if t.check(held) == history.TypeOK && outcome == history.TypeOK {
		t.within(limit, func(ctx context.Context) { t.write(ctx, held) })
	}
	t.within(limit, func(ctx context.Context) { t.release(ctx, held) })
	return true, nil
}

// around draws uniformly from half to one and a half of a mean.
func (t *thread) around(mean time.Duration) time.Duration {
	return time.Duration(float64(mean) * (0.5 + t.draw.Float64()))
}

// sleep waits on the client's own clock, or until stop or the client's end.
func (c *Client) sleep(d time.Duration, stop <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := c.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-stop:
	case <-c.ctx.Done():
	}
}
