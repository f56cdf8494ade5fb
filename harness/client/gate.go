package client

import (
	"sync"
	"time"
)

// Gate is a pause without a process to stop: while it is shut, a client in
// virtual time takes no step. Events, the beginnings of commands, the returns
// of its connections' reads and writes, and the firing of its timers all wait
// here. The clock and the network go on, as they do around a process that was
// sent SIGSTOP.
//
// The zero Gate is open, and so is a nil one: a client with a process of its
// own needs none.
type Gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed on Resume; nil while open
}

// Pause shuts the gate. What was between two steps stops at the next one.
func (g *Gate) Pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

// Resume opens the gate to all that wait.
func (g *Gate) Resume() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// Wait returns once the gate is open. Whoever had to wait goes on lag after
// it was opened: with a lag of their own for each, those that wait do not go
// on at one instant, whose order nobody could repeat.
//
// It waits on a channel, which a synctest bubble counts as standing still; a
// mutex it would not.
func (g *Gate) Wait(lag time.Duration) {
	if g == nil {
		return
	}
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
		if lag > 0 {
			time.Sleep(lag)
		}
	}
}
