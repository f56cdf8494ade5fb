package virtual

import "time"

// epoch is the date of a node's wall clock when it shows 0: when every bubble
// begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// wallClock is a node's clock: a line over the true clock. Both are in
// nanoseconds since the run began. It goes on while the node is down or
// paused, as a machine's does.
type wallClock struct {
	since   int64   // on the true clock, when it was last set
	reading int64   // what it showed then
	rate    float64 // its nanoseconds in one true nanosecond
}

// at is what the clock shows at a time of the true clock.
func (c wallClock) at(now int64) int64 {
	if c.rate == 1 {
		return c.reading + now - c.since
	}
	return c.reading + int64(float64(now-c.since)*c.rate)
}

// set lets the clock jump, and run at another rate unless that is 0.
func (c *wallClock) set(now int64, jump time.Duration, rate float64) {
	c.reading, c.since = c.at(now)+int64(jump), now
	if rate != 0 {
		c.rate = rate
	}
}
