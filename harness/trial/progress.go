package trial

import "sync/atomic"

// Progress shows from outside how far the trial under way has got. Its methods may
// be called from any goroutine; nil takes what there is to say and forgets it.
type Progress struct {
	busy, judging atomic.Bool
	events, time  atomic.Int64
}

// Pace is how far a trial has got.
type Pace struct {
	Events  int64 `json:"events"`
	Time    int64 `json:"time"`    // of the latest, in nanoseconds
	Judging bool  `json:"judging"` // the trial is over, and the checker at work
}

// Begin says that a trial begins.
func (p *Progress) Begin() {
	p.events.Store(0)
	p.time.Store(0)
	p.judging.Store(false)
	p.busy.Store(true)
}

// End says that it is over.
func (p *Progress) End() { p.busy.Store(false) }

// Read gives how far the trial has got, and whether there is one.
func (p *Progress) Read() (now Pace, busy bool) {
	return Pace{p.events.Load(), p.time.Load(), p.judging.Load()}, p.busy.Load()
}

// recorded notes an event.
func (p *Progress) recorded(at int64) {
	if p != nil {
		p.events.Add(1)
		p.time.Store(at)
	}
}

// judge notes that the run is over, or that another begins.
func (p *Progress) judge(judging bool) {
	if p != nil {
		p.judging.Store(judging)
	}
}
