package virtual

import "time"

// epoch is the date of reading 0 of a node's wall clock: the beginning of every bubble.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// wallClock is a node's clock, a linear function of the true clock. Both count nanoseconds since the run began. Like a
// machine's clock, it runs while the node is down or paused.
type wallClock struct {
	since   int64   // true time of the last setting
	reading int64   // its reading then
	rate    float64 // its nanoseconds in one true nanosecond
}

// at is the clock's reading at a true time.
func (c wallClock) at(now int64) int64 {
	if c.rate == 1 {
		return c.reading + now - c.since
	}
	return c.reading + int64(float64(now-c.since)*c.rate)
}

// set makes the clock jump, and changes its rate unless rate is 0.
func (c *wallClock) set(now int64, jump time.Duration, rate float64) {
	c.reading, c.since = c.at(now)+int64(jump), now
	if rate != 0 {
		c.rate = rate
	}
}
