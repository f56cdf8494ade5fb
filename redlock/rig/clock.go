package rig

import (
	"sync/atomic"
	"time"

	"example.org/lockproof/redlock"
)

// Clock is the bubble's clock. Its wall clock can be set, and its machine suspended.
type Clock struct {
	Origin          time.Time
	back, suspended atomic.Int64 // nanoseconds
}

func (c *Clock) NewTimer(d time.Duration) redlock.Timer { return redlock.SystemClock().NewTimer(d) }

func (c *Clock) Now() time.Duration { return time.Since(c.Origin) + time.Duration(c.suspended.Load()) }

// Suspend advances the readings but not the timers, as the suspend of a machine does.
func (c *Clock) Suspend(d time.Duration) { c.suspended.Add(int64(d)) }

func (c *Clock) Wall() time.Time { return time.Now().Add(-time.Duration(c.back.Load())) }

func (c *Clock) SetBack(d time.Duration) { c.back.Add(int64(d)) }
