package client

import (
	"errors"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/redlock"
)

// starver makes the timers of a client's lock late, as work does that blocks the loop
// on which they run: while it is on, those that are due wait. The work itself goes on.
type starver struct {
	clock *clock

	mu      sync.Mutex
	probe   *timer // due when timers began to be late; nil: they are not
	since   int64  // the true time of that
	waiting []lateTimer
}

// lateTimer is a timer that was due at a true time, and waits.
type lateTimer struct {
	step
	due int64
}

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
	starver *starver
}

func (c *lockClock) NewTimer(d time.Duration) redlock.Timer { return c.newTimer(d, c.starver) }

// starve begins it, and sets a timer that shows it.
func (s *starver) starve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.probe != nil {
		return errors.New("starve: its timers are late already")
	}
	s.probe, s.since = s.clock.newTimer(0, s), s.clock.now()
	return nil
}

// feed ends it, and tells what was late.
func (s *starver) feed() (*Starved, error) {
	s.mu.Lock()
	probe, since := s.probe, s.since
	s.mu.Unlock()
	if probe == nil {
		return nil, errors.New("feed: its timers are not late")
	}
	now, late := s.clock.now(), &Starved{}
	if probe.Stop() {
		late.Probe = time.Duration(now - since)
	}
	for _, t := range s.end() {
		if t.key != probe.key {
			late.Timers++
			late.Latest = max(late.Latest, time.Duration(now-t.due))
		}
	}
	return late, nil
}

// end lets go on what waits, each by an event of its own, and gives it.
func (s *starver) end() []lateTimer {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waiting
	s.probe, s.waiting = nil, nil
	for _, t := range waiting {
		s.clock.scheduler.After(0, t.key, t.do)
	}
	return waiting
}

// do does something now, or once timers are not late any more. A nil one does it now.
func (s *starver) do(key scheduler.Key, do func()) {
	if s == nil || !s.hold(step{key, do}) {
		do()
	}
}

// hold keeps what is due, while timers are late.
func (s *starver) hold(due step) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.probe == nil {
		return false
	}
	s.waiting = append(s.waiting, lateTimer{due, s.clock.now()})
	return true
}
