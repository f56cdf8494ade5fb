package scheduler

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"sync"
	"testing/synctest"
	"time"
)

// Scheduler executes events one after another in one goroutine. After each event it waits until every goroutine of the
// bubble blocks. Goroutines only add events, and so do not influence the order.
type Scheduler struct {
	began   time.Time
	virtual bool // time is virtual
	wake    chan struct{}

	mu     sync.Mutex
	events events
	made   uint64 // timers so far
	until  int64  // the scheduler sleeps until this time; 0: it is awake
	ended  bool
}

// Class is the class of an event. Events of one instant happen class by class.
type Class uint8

// The classes, in their order, each with the A, B and C of its keys.
const (
	Script   Class = iota // a script's or a fault's wait ends
	Arrival               // a message arrives, or a connection is made: link, connection, direction
	Node                  // a server works: node
	Deadline              // a read or a context times out: link, connection
	Client                // a client continues after a timer or a pause: client, kind of its step, number
	Turn                  // a command enters the client library, or leaves it without a reply: client, server, step
	Loss                  // a client notices the loss of its lease: client, lease
	Rest                  // after all other events of the instant
)

// Key orders the events of one instant.
type Key struct {
	Class   Class
	A, B, C int
	Words   fmt.Stringer // nil: none
}

func (k *Key) compare(o *Key) int {
	switch {
	case k.Class != o.Class:
		return cmp.Compare(k.Class, o.Class)
	case k.A != o.A:
		return cmp.Compare(k.A, o.A)
	case k.B != o.B:
		return cmp.Compare(k.B, o.B)
	case k.C != o.C:
		return cmp.Compare(k.C, o.C)
	case k.Words == nil || o.Words == nil:
		return 0
	}
	return cmp.Compare(k.Words.String(), o.Words.String())
}

// New starts a scheduler in the present bubble. It runs until End.
func New() *Scheduler { return begin(true) }

// RealTime starts a scheduler outside of virtual time: events happen when they are due, but other goroutines may run
// meanwhile.
func RealTime() *Scheduler { return begin(false) }

func begin(virtual bool) *Scheduler {
	s := &Scheduler{began: time.Now(), virtual: virtual, wake: make(chan struct{}, 1)}
	go s.run()
	return s
}

// Virtual reports whether time is virtual.
func (s *Scheduler) Virtual() bool { return s.virtual }

// End ends the scheduler: no more events happen.
func (s *Scheduler) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.interrupt()
}

// interrupt wakes the scheduler if it sleeps; s.mu is held.
func (s *Scheduler) interrupt() {
	if s.until == 0 {
		return
	}
	s.until = 0
	s.wake <- struct{}{}
}

func (s *Scheduler) now() int64 { return int64(time.Since(s.began)) }

// Timer is an event that can be set repeatedly. Its function must not block.
type Timer struct {
	scheduler *Scheduler
	key       Key
	do        func()
	passive   bool
	number    uint64 // order of creation, for equal keys
	at        int64  // nanoseconds after the scheduler began
	index     int    // in the heap; -1: it is not set
}

// NewTimer makes an unset timer.
func (s *Scheduler) NewTimer(key Key, do func()) *Timer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return &Timer{scheduler: s, key: key, do: do, number: s.made, index: -1}
}

// Passive declares that the event wakes no goroutine, so that the scheduler need not wait after it.
func (t *Timer) Passive() *Timer {
	t.passive = true
	return t
}

// After sets a new timer to d from now.
func (s *Scheduler) After(d time.Duration, key Key, do func()) *Timer {
	t := s.NewTimer(key, do)
	t.Set(d)
	return t
}

// Set sets the timer to after from now, instead of an earlier setting.
func (t *Timer) Set(after time.Duration) {
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	t.at = s.now() + int64(max(after, 0))
	if t.index < 0 {
		heap.Push(&s.events, t)
	} else {
		heap.Fix(&s.events, t.index)
	}
	if t.at < s.until {
		s.interrupt()
	}
}

// Stop unsets the timer, and reports whether it was set.
func (t *Timer) Stop() bool {
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&s.events, t.index)
	return true
}

// Sleep waits for d, or until ctx ends. It waits for an event even if d is 0.
func (s *Scheduler) Sleep(ctx context.Context, key Key, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	t := s.After(d, key, func() { close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		t.Stop()
		return ctx.Err()
	}
}

// never is the wake-up time of a scheduler without events.
const never = 1<<63 - 1

func (s *Scheduler) run() {
	timer := time.NewTimer(time.Hour)
	moved := true // goroutines may be running
	for {
		if moved && s.virtual {
			synctest.Wait()
		}
		moved = true
		t, wait, ended := s.next()
		switch {
		case ended:
			timer.Stop()
			return
		case t != nil:
			t.do()
			moved = !t.passive
		case wait == never:
			<-s.wake
		default:
			timer.Reset(wait)
			select {
			case <-timer.C:
				s.mu.Lock()
				s.until = 0
				s.mu.Unlock()
			case <-s.wake:
			}
		}
	}
}

// next removes the next due event, or returns the time until it is due.
func (s *Scheduler) next() (t *Timer, wait time.Duration, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, 0, true
	}
	select {
	case <-s.wake: // from an earlier interrupt
	default:
	}
	if len(s.events) == 0 {
		s.until = never
		return nil, never, false
	}
	t = s.events[0]
	if wait := t.at - s.now(); wait > 0 {
		s.until = t.at
		return nil, time.Duration(wait), false
	}
	heap.Pop(&s.events)
	return t, 0, false
}

// events is a heap of the timers that are set.
type events []*Timer

func (q events) Len() int { return len(q) }

func (q events) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.at != b.at {
		return a.at < b.at
	}
	if c := a.key.compare(&b.key); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

func (q events) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *events) Push(p any) {
	t := p.(*Timer)
	t.index = len(*q)
	*q = append(*q, t)
}

func (q *events) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	t.index = -1
	(*q)[last] = nil
	*q = (*q)[:last]
	return t
}
