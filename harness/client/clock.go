package client

import (
	"math"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/redlock"
)

// clock is a client's monotonic and wall clock, derived from the true clock, which faults can change. The lock under
// test reads it (redlock.Clock). Readings are nanoseconds since the run began, as this clock counts them.
type clock struct {
	now       func() int64 // the true clock
	epoch     time.Time    // the date of its reading 0, as the servers' clocks have it
	scheduler *scheduler.Scheduler
	pause     *hold

	mu         sync.Mutex
	mono, wall cluster.LinearClock // with one rate
	timers     map[*timer]struct{}
	made       int // timers so far
}

var _ redlock.Clock = (*clock)(nil)

func newClock(now func() int64, s *scheduler.Scheduler, pause *hold) *clock {
	return &clock{now: now, epoch: time.Now().Round(0).Add(-time.Duration(now())), scheduler: s, pause: pause,
		mono: cluster.TrueClock(), wall: cluster.TrueClock(), timers: map[*timer]struct{}{}}
}

// Now is the monotonic reading.
func (c *clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monotonic()
}

// monotonic is Now of a locked clock.
func (c *clock) monotonic() time.Duration { return time.Duration(c.mono.At(c.now())) }

// Wall is the wall clock's date. Unless a fault changes it, the servers' clocks have the same.
func (c *clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.date()
}

func (c *clock) date() time.Time { return c.epoch.Add(time.Duration(c.wall.At(c.now()))) }

// set makes the wall clock jump and changes the rate of both clocks.
func (c *clock) set(s SetClock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.mono.Set(now, 0, s.Rate)
	c.wall.Set(now, s.Jump, s.Rate)
	for t := range c.timers {
		t.arm()
	}
}

// close stops every timer.
func (c *clock) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.timers {
		t.inner.Stop()
	}
	clear(c.timers)
}

// reading returns one clock's reading and rate.
func (c *clock) reading(wall bool) (int64, float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.mono
	if wall {
		read = c.wall
	}
	return read.At(c.now()), read.Rate()
}

// NewTimer fires after d on this clock, even if its rate changes: at a rate r that is d/r of true time.
func (c *clock) NewTimer(d time.Duration) redlock.Timer { return c.newTimer(d, nil) }

// newTimer makes a timer that a pause holds, and late, if not nil.
func (c *clock) newTimer(d time.Duration, late *hold) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, due: c.monotonic() + d, number: c.made, fired: make(chan time.Time, 1)}
	t.inner = c.scheduler.NewTimer(c.pause.key(orderTimers, t.number), func() {
		c.pause.do(orderTimers, t.number, func() { late.do(orderTimers, t.number, t.fire) })
	})
	c.made++
	c.timers[t] = struct{}{}
	t.arm()
	return t
}

type timer struct {
	clock  *clock
	due    time.Duration // monotonic reading
	number int           // among the clock's timers
	fired  chan time.Time
	inner  *scheduler.Timer
}

// arm sets the inner timer; the clock is locked.
func (t *timer) arm() {
	c := t.clock
	left := float64(t.due-c.monotonic()) / c.mono.Rate()
	t.inner.Set(time.Duration(math.Ceil(left)))
}

func (t *timer) fire() {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, pending := c.timers[t]; !pending {
		return
	}
	if c.monotonic() < t.due { // the rate changed, or the division was inexact
		t.arm()
		return
	}
	delete(c.timers, t)
	t.fired <- c.date()
}

func (t *timer) C() <-chan time.Time { return t.fired }

// Stop reports whether it prevented the timer from firing.
func (t *timer) Stop() bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	_, pending := c.timers[t]
	delete(c.timers, t)
	t.inner.Stop()
	return pending
}
