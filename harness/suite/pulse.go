package suite

import (
	"sync/atomic"
)

// pulse shows from outside how far the trial under way has got.
type pulse struct {
	busy, judging atomic.Bool
	events, time  atomic.Int64
}

func (p *pulse) begin() {
	p.events.Store(0)
	p.time.Store(0)
	p.judging.Store(false)
	p.busy.Store(true)
}

func (p *pulse) end() { p.busy.Store(false) }

// beat notes an event.
func (p *pulse) beat(at int64) {
	if p != nil {
		p.events.Add(1)
		p.time.Store(at)
	}
}

// judge notes that the run is over, or that another begins.
func (p *pulse) judge(judging bool) {
	if p != nil {
		p.judging.Store(judging)
	}
}

func (p *pulse) read() (now pace, busy bool) {
	return pace{p.events.Load(), p.time.Load(), p.judging.Load()}, p.busy.Load()
}
