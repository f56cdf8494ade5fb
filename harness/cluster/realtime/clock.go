package realtime

import (
	"context"
	"time"

	"example.org/lockproof/harness/history"
)

// Clock is the true clock of one run, counted from its start.
type Clock struct {
	epoch int64 // CLOCK_MONOTONIC at the start
	wall  int64 // the host's wall clock at the start, as Unix nanoseconds
}

// Start returns the clock of a run that begins now.
func Start() Clock { return Clock{epoch: Monotonic(), wall: time.Now().UnixNano()} }

// Since returns the clock of a run that another process started. Its Wall is invalid.
func Since(epoch int64) Clock { return Clock{epoch: epoch} }

// Epoch is the CLOCK_MONOTONIC reading at the start of the run.
func (c Clock) Epoch() int64 { return c.epoch }

// Now is the true clock: nanoseconds since the run began.
func (c Clock) Now() int64 { return Monotonic() - c.epoch }

// Began is the start time of the run by this process's wall clock.
func (c Clock) Began() time.Time { return time.Now().Add(-time.Duration(c.Now())) }

// Wall converts a wall clock time to nanoseconds since the run began, as the wall clock counts them.
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

// watchEvery is the period of stall checks for a limit. A measured stall can be one period too short, hence a quarter
// of the limit; checks wake the machine's processors, hence no shorter.
func watchEvery(limit time.Duration) time.Duration {
	return min(max(limit/4, time.Millisecond), 25*time.Millisecond)
}

// Watch measures this process's stalls until ctx ends: it sleeps and measures the excess. It records stalls of at least
// limit, because real-time verdicts are unreliable after one.
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

// Poll calls done repeatedly until it returns true or an error, or until ctx ends; then it returns ctx's error.
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
