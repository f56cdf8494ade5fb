package trial

import "sync/atomic"

// Progress shows from outside how far the trial under way has got. Its methods may
// be called from any goroutine; nil takes what there is to say and forgets it.
type Progress struct {
	busy, judging atomic.Bool
	events, time  atomic.Int64
}

// Position is how far a trial has got.
type Position struct {
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
func (p *Progress) Read() (now Position, busy bool) {
	return Position{p.events.Load(), p.time.Load(), p.judging.Load()}, p.busy.Load()
}

// recordEvent notes an event.
func (p *Progress) recordEvent(at int64) {
	if p != nil {
		p.events.Add(1)
		p.time.Store(at)
	}
}

// setJudging notes that the run is over, or that another begins.
func (p *Progress) setJudging(judging bool) {
	if p != nil {
		p.judging.Store(judging)
	}
}
