package local

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"lockproof/harness/history"
)

// monotonic reads CLOCK_MONOTONIC, which all processes of a machine share. Go
// does not give away its own reading of it.
func monotonic() int64 {
	var t unix.Timespec
	// It cannot fail: the clock exists and the pointer is good.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// Now is the true clock: nanoseconds since the run began.
func (c *Cluster) Now() int64 { return monotonic() - c.epoch }

// Sleep waits on the true clock, or until ctx ends.
func (c *Cluster) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watchEvery is how often the watchdog looks at the clock. It is short against
// any stall limit, and long enough to cost nothing.
const watchEvery = 4 * time.Millisecond

// watch measures how late the harness itself is: a goroutine that sleeps and
// looks how long that took. Lateness from the run's StallLimit on is recorded,
// since real-time verdicts cannot be trusted over it.
func (c *Cluster) watch() {
	if c.cfg.StallLimit <= 0 {
		return
	}
	c.busy.Go(func() {
		before := c.Now()
		for c.Sleep(c.life, watchEvery) == nil {
			now := c.Now()
			if late := now - before - int64(watchEvery); late >= int64(c.cfg.StallLimit) {
				c.cfg.Record(history.Event{Time: now, Process: "harness", Type: history.TypeStall, Late: late})
			}
			before = now
		}
	})
}
