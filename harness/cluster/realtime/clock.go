package realtime

import (
	"context"
	"time"

	"example.org/lockproof/harness/history"
)

// Clock counts from the moment at which a run began.
type Clock struct {
	epoch int64 // CLOCK_MONOTONIC at that moment
	wall  int64 // the host's wall clock at that moment, as Unix nanoseconds
}

// Start begins a run now.
func Start() Clock { return Clock{epoch: Monotonic(), wall: time.Now().UnixNano()} }

// Since is the clock of a run that another process has begun. It knows no wall
// clock.
func Since(epoch int64) Clock { return Clock{epoch: epoch} }

// Epoch is the reading of CLOCK_MONOTONIC at which the run began.
func (c Clock) Epoch() int64 { return c.epoch }

// Now is the true clock: nanoseconds since the run began.
func (c Clock) Now() int64 { return Monotonic() - c.epoch }

// Began is the date at which the run began, by this process's wall clock.
func (c Clock) Began() time.Time { return time.Now().Add(-time.Duration(c.Now())) }

// Wall is a wall clock's time, in nanoseconds since the run began as that clock
// counts them.
func (c Clock) Wall(t time.Time) int64 { return t.UnixNano() - c.wall }

// Sleep waits on the true clock, or until ctx ends.
func (c Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watchEvery is how often a process looks at the clock that is to tell of stalls
// from limit on: four times as often as that, for a stall is measured up to so
// much too short; and not more often, for all that look wake a machine's
// processors.
func watchEvery(limit time.Duration) time.Duration {
	return min(max(limit/4, time.Millisecond), 25*time.Millisecond)
}

// Watch measures how late this process is, until ctx ends: it
// sleeps and looks how long that took. Lateness from limit on is recorded, since
// real-time verdicts cannot be trusted over it.
func (c Clock) Watch(ctx context.Context, process string, limit time.Duration, record func(history.Event)) {
	every := watchEvery(limit)
	before := c.Now()
	for c.Sleep(ctx, every) == nil {
		now := c.Now()
		if late := now - before - int64(every); late >= int64(limit) {
			record(history.Event{Time: now, Process: process, Type: history.TypeStall, Late: late})
		}
		before = now
	}
}

// Poll asks again and again, until it is done, an error comes up, or ctx ends: then the error is ctx's.
func Poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	for {
		if is, err := done(); is || err != nil {
			return err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
