package client

import (
	"errors"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/redlock"
)

// lockClock is the lock's view of the client's clock: its timers can be late, those of the client's work cannot.
type lockClock struct {
	*clock
	late *hold // makes the timers late

	// probe is a timer that was due at starved, when the timers became late; nil: they are not. The control thread owns
	// both.
	probe   *timer
	starved time.Time
}

func (c *lockClock) NewTimer(d time.Duration) redlock.Timer { return c.newTimer(d, c.late) }

// starve makes the timers late, and sets a probe that proves it.
func (c *lockClock) starve() error {
	if c.probe != nil {
		return errors.New("starve: its timers are late already")
	}
	c.late.begin()
	c.probe, c.starved = c.newTimer(0, c.late), time.Now()
	return nil
}

// feed runs the late timers and reports their lateness.
func (c *lockClock) feed() (*cluster.Late, error) {
	if c.probe == nil {
		return nil, errors.New("feed: its timers are not late")
	}
	late := &cluster.Late{}
	if c.probe.Stop() {
		late.Probe = time.Since(c.starved)
	}
	for _, s := range c.late.end() {
		if s.number != c.probe.number {
			late.Timers++
			late.Latest = max(late.Latest, time.Since(s.due))
		}
	}
	c.probe = nil
	return late, nil
}
