package client

import (
	"sync"
	"time"
)

// Pauser pauses a client that has no process to stop: while it is on, a client in
// virtual time takes no step. Events, the beginnings of commands, the returns
// of its connections' reads and writes, and the firing of its timers all wait
// here. The clock and the network go on, as they do around a process that was
// sent SIGSTOP.
//
// The zero Pauser is off, and so is a nil one: a client with a process of its
// own needs none.
type Pauser struct {
	mu      sync.Mutex
	resumed chan struct{} // closed on Resume; nil while off
}

// Pause begins a pause. What was between two steps stops at the next one.
func (p *Pauser) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed == nil {
		p.resumed = make(chan struct{})
	}
}

// Resume ends it for all that wait.
func (p *Pauser) Resume() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed != nil {
		close(p.resumed)
		p.resumed = nil
	}
}

// Wait returns once no pause is on. Whoever had to wait goes on lag after
// its end: with a lag of their own for each, those that wait do not go
// on at one instant, whose order nobody could repeat.
//
// It waits on a channel, which a synctest bubble counts as standing still; a
// mutex it would not.
func (p *Pauser) Wait(lag time.Duration) {
	if p == nil {
		return
	}
	for {
		p.mu.Lock()
		until := p.resumed
		p.mu.Unlock()
		if until == nil {
			return
		}
		<-until
		if lag > 0 {
			time.Sleep(lag)
		}
	}
}
