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

	mu      sync.Mutex
	on      bool
	waiting []step
}

// step is delayed until the end of a hold.
type step struct {
	key scheduler.Key
	do  func()
	due time.Time
}

func newHold(s *scheduler.Scheduler) *hold { return &hold{scheduler: s} }

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
		h.scheduler.After(0, s.key, func() { h.do(s.key, s.do) })
	}
	return held
}

// do calls do now, or when the hold ends. It does not wait.
func (h *hold) do(key scheduler.Key, do func()) {
	if h == nil || !h.keep(key, do) {
		do()
	}
}

// wait returns once the hold is off.
func (h *hold) wait(key scheduler.Key) {
	if h == nil {
		return
	}
	over := make(chan struct{})
	if h.keep(key, func() { close(over) }) {
		<-over
	}
}

// keep delays a step until the end of the hold, if it is on.
func (h *hold) keep(key scheduler.Key, do func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on {
		h.waiting = append(h.waiting, step{key, do, time.Now()})
	}
	return h.on
}

// The order of a client's steps at one instant, also when it resumes: a resumed process reads received data before its
// timers fire.
const (
	orderThreads = iota
	orderControl
	orderConnections
	orderTimers
)

// key orders a client's step among all events of an instant; number distinguishes steps of one kind.
func (s Setup) key(kind, number int) scheduler.Key {
	return scheduler.Key{Class: scheduler.Client, A: s.Index, B: kind, C: number}
}
