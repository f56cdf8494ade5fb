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

// Scheduler lets events happen, one after another, in one goroutine. After each event it
// waits until every goroutine of the bubble stands still; whoever wants something to happen
// adds an event, and so has no part in the order.
type Scheduler struct {
	began time.Time
	quiet func() // returns when nothing moves by itself
	wake  chan struct{}

	mu     sync.Mutex
	events events
	made   uint64 // timers so far
	until  int64  // the scheduler sleeps until then; 0: it is awake
	over   bool
}

// Class is what kind of event it is. Events of one instant happen class by class.
type Class uint8

// The classes, in their order.
const (
	Script   Class = iota // a script's wait is over, or a fault's
	Arrival               // a message arrives, or a connection is made
	Node                  // a server works
	Deadline              // a read or a context times out
	Client                // a client goes on: a timer, the end of a pause
	Turn                  // a command of a client enters the client library, or leaves it unanswered
	Loss                  // a client notices that its lease is lost
	Rest                  // nothing else is left to happen at this instant
)

// Key places an event among those of its instant.
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

// New begins a scheduler in the present bubble, which lasts until End.
func New() *Scheduler { return begin(synctest.Wait) }

// RealTime begins a scheduler outside of virtual time: events happen when they are due, and
// nobody can say what goroutines do meanwhile.
func RealTime() *Scheduler { return begin(func() {}) }

func begin(quiet func()) *Scheduler {
	s := &Scheduler{began: time.Now(), quiet: quiet, wake: make(chan struct{}, 1)}
	go s.run()
	return s
}

// End ends it: nothing more happens.
func (s *Scheduler) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
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

// Timer is an event that can be set, again and again. What it does may not block.
type Timer struct {
	scheduler *Scheduler
	key       Key
	do        func()
	passive   bool
	number    uint64 // of all timers: the last resort among equal keys
	at        int64  // nanoseconds after the scheduler began
	place     int    // among those that are set; -1: it is not
}

// NewTimer makes an event that is not set.
func (s *Scheduler) NewTimer(key Key, do func()) *Timer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return &Timer{scheduler: s, key: key, do: do, number: s.made, place: -1}
}

// Passive says of an event that it wakes no goroutine: what it does is over when it returns,
// and the scheduler need not wait for more.
func (t *Timer) Passive() *Timer {
	t.passive = true
	return t
}

// After lets something happen once, that long from now.
func (s *Scheduler) After(d time.Duration, key Key, do func()) *Timer {
	t := s.NewTimer(key, do)
	t.Set(d)
	return t
}

// Set lets it happen once, that long from now, and not when it was set to before.
func (t *Timer) Set(after time.Duration) {
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	t.at = s.now() + int64(max(after, 0))
	if t.place < 0 {
		heap.Push(&s.events, t)
	} else {
		heap.Fix(&s.events, t.place)
	}
	if t.at < s.until {
		s.interrupt()
	}
}

// Stop reports whether it kept the event from happening.
func (t *Timer) Stop() bool {
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.place < 0 {
		return false
	}
	heap.Remove(&s.events, t.place)
	return true
}

// Sleep waits, or until ctx ends. It takes an event even for no time at all.
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

// never is when a scheduler without events wakes up.
const never = 1<<63 - 1

func (s *Scheduler) run() {
	timer := time.NewTimer(time.Hour)
	moved := true // goroutines may be running
	for {
		if moved {
			s.quiet()
		}
		moved = true
		t, wait, over := s.next()
		switch {
		case over:
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

// next takes the event that is due, or tells for how long there is none.
func (s *Scheduler) next() (t *Timer, wait time.Duration, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, 0, true
	}
	select {
	case <-s.wake: // in the meantime
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

// events are those that are set, as a heap.
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
	q[i].place, q[j].place = i, j
}

func (q *events) Push(p any) {
	t := p.(*Timer)
	t.place = len(*q)
	*q = append(*q, t)
}

func (q *events) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	t.place = -1
	(*q)[last] = nil
	*q = (*q)[:last]
	return t
}
