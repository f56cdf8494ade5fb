package redlock

import "time"

// Clock is how the lock reads time. The zero configuration reads the system's;
// tests and Lockproof give a clock that can be made to run wrong.
type Clock interface {
	// Now is a monotonic reading from an arbitrary origin. It must go on while
	// the machine is suspended: the servers' clocks do.
	Now() time.Duration
	// Wall is the wall clock, which may step. Only Without(MonotonicClock)
	// reads it.
	Wall() time.Time
	// NewTimer fires once, when d has passed on this clock.
	NewTimer(d time.Duration) Timer
}

// Timer is a time.Timer behind an interface.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
}
