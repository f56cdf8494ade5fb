package client

import (
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// hold keeps what is due from being done while it is on. One pauses a client that has no process to stop: events, the
// beginnings of commands, the returns of its connections' reads and writes, and the firing of its timers all wait. The
// clock and the network go on, as they do around a process that was sent SIGSTOP. Another makes the timers of a
// client's lock late, as work does that blocks the loop on which they run.
//
// A nil one is off: a client with a process of its own needs none.
type hold struct {
	scheduler *scheduler.Scheduler

	mu      sync.Mutex
	on      bool
	waiting []step
}

// step is what waits for the end of a hold.
type step struct {
	key scheduler.Key
	do  func()
	due time.Time
}

// newHold makes one that is off.
func newHold(s *scheduler.Scheduler) *hold { return &hold{scheduler: s} }

// begin begins a hold. What was between two steps stops at the next one.
func (h *hold) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on = true
}

// end ends it for all that wait, which it gives: each goes on by an event of its own.
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

// do does something now, or once no hold is on. It does not wait.
func (h *hold) do(key scheduler.Key, do func()) {
	if h == nil || !h.keep(key, do) {
		do()
	}
}

// wait returns once no hold is on.
func (h *hold) wait(key scheduler.Key) {
	if h == nil {
		return
	}
	over := make(chan struct{})
	if h.keep(key, func() { close(over) }) {
		<-over
	}
}

// keep keeps a step until the end of the hold, if one is on.
func (h *hold) keep(key scheduler.Key, do func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on {
		h.waiting = append(h.waiting, step{key, do, time.Now()})
	}
	return h.on
}

// What a client does at one instant it does in this order, also when it goes on after a
// pause: a process that carries on reads what has come in for it before its timers run out.
const (
	orderThreads = iota
	orderControl
	orderConnections
	orderTimers
)

// key places what a client does among what else happens at the same instant; number tells
// apart what is of one kind.
func (s Setup) key(kind, number int) scheduler.Key {
	return scheduler.Key{Class: scheduler.Client, A: s.Index, B: kind, C: number}
}
