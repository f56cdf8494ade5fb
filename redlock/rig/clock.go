package rig

import (
	"sync"
	"time"

	"example.org/lockproof/redlock"
)

// Clock is the bubble's clock. Its wall clock can be set, and its machine suspended.
type Clock struct {
	Origin    time.Time
	mu        sync.Mutex
	step      time.Duration
	suspended time.Duration
}

func (c *Clock) NewTimer(d time.Duration) redlock.Timer { return redlock.SystemClock().NewTimer(d) }

func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.Origin) + c.suspended
}

// Suspend advances the readings but not the timers, as the suspend of a machine does.
func (c *Clock) Suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspended += d
}

func (c *Clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.step)
}

func (c *Clock) SetBack(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step -= d
}
