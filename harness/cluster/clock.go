package cluster

import "time"

// LinearClock is a machine's clock, a linear function of the true clock that faults change. Both count nanoseconds
// since the run began. It runs while the machine's processes are stopped.
type LinearClock struct {
	since   int64   // true time of the last setting
	reading int64   // its reading then
	rate    float64 // its nanoseconds in one true nanosecond
}

// TrueClock returns a clock that shows the true time until it is set.
func TrueClock() LinearClock { return LinearClock{rate: 1} }

// At is the clock's reading at a true time.
func (c LinearClock) At(now int64) int64 {
	if c.rate == 1 {
		return c.reading + now - c.since
	}
	return c.reading + int64(float64(now-c.since)*c.rate)
}

// Rate is the number of its nanoseconds in one true nanosecond.
func (c LinearClock) Rate() float64 { return c.rate }

// Set makes the clock jump, and changes its rate unless rate is 0.
func (c *LinearClock) Set(now int64, jump time.Duration, rate float64) {
	c.reading, c.since = c.At(now)+int64(jump), now
	if rate != 0 {
		c.rate = rate
	}
}
