package client

import (
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// hold delays due steps while it is on. One hold pauses a client in virtual time: events, commands, returns of its
// connections' reads and writes, and timers wait. The clock and the network continue, as around a process after
// SIGSTOP. Another makes the timers of a client's lock late, as work that blocks an event loop does.
//
// A nil hold is always off, for a client with its own process.
type hold struct {
	scheduler *scheduler.Scheduler
	client    int // index among the run's clients

	mu      sync.Mutex
	on      bool
	waiting []step
}

// step is delayed until the end of a hold.
type step struct {
	kind, number int
	do           func()
	due          time.Time
}

// The kinds of a client's steps, in their order at one instant, also when it resumes: a resumed process reads received
// data before its timers fire.
const (
	orderThreads = iota
	orderControl
	orderConnections
	orderTimers
)

// key is a step's place among all events of an instant; number distinguishes steps of one kind.
func (h *hold) key(kind, number int) scheduler.Key {
	k := scheduler.Key{Class: scheduler.Client, B: kind, C: number}
	if h != nil { // otherwise the client has its own scheduler
		k.A = h.client
	}
	return k
}

// begin starts the hold: running goroutines stop at their next step.
func (h *hold) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on = true
}

// end ends the hold and returns the held steps. Each resumes by its own event.
func (h *hold) end() (held []step) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	held, h.on, h.waiting = h.waiting, false, nil
	for _, s := range held {
		h.scheduler.After(0, h.key(s.kind, s.number), func() { h.do(s.kind, s.number, s.do) })
	}
	return held
}

// do calls do now, or when the hold ends. It does not wait.
func (h *hold) do(kind, number int, do func()) {
	if h == nil || !h.keep(kind, number, do) {
		do()
	}
}

// wait returns once the hold is off.
func (h *hold) wait(kind, number int) {
	if h == nil {
		return
	}
	over := make(chan struct{})
	if h.keep(kind, number, func() { close(over) }) {
		<-over
	}
}

// keep delays a step until the end of the hold, if it is on.
func (h *hold) keep(kind, number int, do func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on {
		h.waiting = append(h.waiting, step{kind, number, do, time.Now()})
	}
	return h.on
}
