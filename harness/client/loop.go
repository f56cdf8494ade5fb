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
func (c *thread) loop(l Loop, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-c.ctx.Done():
			return nil
		default:
		}
		pause := c.around(l.Think)
		granted, err := c.round(l)
		if err != nil {
			return err
		}
		if !granted {
			// A lock that refuses at once would be called forever in one instant.
			pause += c.setup.Options.RetryMin
		}
		c.sleep(pause, stop)
	}
}

// round acquires a key, reads, holds, checks, writes and releases. It reports whether the lock was granted; a lock
// that refuses its configuration ends the loop.
func (c *thread) round(l Loop) (granted bool, err error) {
	key := l.Keys[c.draw.IntN(len(l.Keys))]
	hold := c.around(l.Hold)
	limit := acquireTTLs * c.setup.Options.TTL
	outcome := history.TypeFail
	c.within(limit, func(ctx context.Context) { outcome, err = c.acquire(ctx, key) })
	if outcome != history.TypeOK {
		if locks.Reason(err) == history.ReasonRefused {
			return false, fmt.Errorf("loop: the lock refuses: %w", err)
		}
		return false, nil
	}
	t := c.latest
	c.within(limit, func(ctx context.Context) { outcome = c.read(ctx, key, t) })
	// If the validity ends before the work, the client checks its lease then and does not write.
	c.sleep(min(hold, t.lease.Validity()), nil)
	if c.ctx.Err() != nil {
		return true, nil
	}
	if c.check(t) == history.TypeOK && outcome == history.TypeOK {
		c.within(limit, func(ctx context.Context) { c.write(ctx, t) })
	}
	c.within(limit, func(ctx context.Context) { c.release(ctx, t) })
	return true, nil
}

// around draws uniformly from half to one and a half of a mean.
func (c *thread) around(mean time.Duration) time.Duration {
	return time.Duration(float64(mean) * (0.5 + c.draw.Float64()))
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
