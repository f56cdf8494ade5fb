package client

import (
	"errors"
	"time"

	"example.org/lockproof/redlock"
)

// Starved is what was late when a client's timers ran again.
type Starved struct {
	// Probe is how late a timer is that was due when timers began to be late; 0: it was not.
	Probe time.Duration `json:"probe"`
	// Timers is how many of the lock's were late, and Latest by how much at the most.
	Timers int           `json:"timers"`
	Latest time.Duration `json:"latest"`
}

// lockClock is the client's clock as its lock has it: these timers can be late, and those
// of the client's work cannot.
type lockClock struct {
	*clock
	late *hold
}

func (c *lockClock) NewTimer(d time.Duration) redlock.Timer { return c.newTimer(d, c.late) }

// starve makes the lock's timers late, and sets one that shows it.
func (c *Client) starve() error {
	if c.probe != nil {
		return errors.New("starve: its timers are late already")
	}
	c.late.begin()
	c.probe, c.starved = c.clock.newTimer(0, c.late), time.Now()
	return nil
}

// feed lets them run, and tells what was late.
func (c *Client) feed() (*Starved, error) {
	if c.probe == nil {
		return nil, errors.New("feed: its timers are not late")
	}
	late := &Starved{}
	if c.probe.Stop() {
		late.Probe = time.Since(c.starved)
	}
	for _, s := range c.late.end() {
		if s.key != c.probe.key {
			late.Timers++
			late.Latest = max(late.Latest, time.Since(s.due))
		}
	}
	c.probe = nil
	return late, nil
}
