package client

import (
	"sync"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// Pauser pauses a client that has no process to stop: while it is on, a client in
// virtual time takes no step. Events, the beginnings of commands, the returns
// of its connections' reads and writes, and the firing of its timers all wait
// here. The clock and the network go on, as they do around a process that was
// sent SIGSTOP.
//
// A nil one is off: a client with a process of its own needs none.
type Pauser struct {
	scheduler *scheduler.Scheduler

	mu      sync.Mutex
	paused  bool
	waiting []step
}

// step is what waits for the end of a pause.
type step struct {
	key scheduler.Key
	do  func()
}

// NewPauser makes one that is off.
func NewPauser(s *scheduler.Scheduler) *Pauser { return &Pauser{scheduler: s} }

// Pause begins a pause. What was between two steps stops at the next one.
func (p *Pauser) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
}

// Resume ends it for all that wait: each goes on by an event of its own.
func (p *Pauser) Resume() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
	for _, s := range p.waiting {
		p.scheduler.After(0, s.key, func() { p.Do(s.key, s.do) })
	}
	p.waiting = nil
}

// Do does something now, or once no pause is on. It does not wait.
func (p *Pauser) Do(key scheduler.Key, do func()) {
	if p == nil || !p.hold(step{key, do}) {
		do()
	}
}

// Wait returns once no pause is on.
func (p *Pauser) Wait(key scheduler.Key) {
	if p == nil {
		return
	}
	resumed := make(chan struct{})
	if p.hold(step{key, func() { close(resumed) }}) {
		<-resumed
	}
}

// hold keeps a step until the end of the pause, if one is on.
func (p *Pauser) hold(s step) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		p.waiting = append(p.waiting, s)
	}
	return p.paused
}
