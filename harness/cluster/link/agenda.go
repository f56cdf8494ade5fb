package link

import (
	"container/heap"
	"sync"
	"time"
)

// Agenda does what is due, one thing after another, in one goroutine: all that moves in
// a network in memory. A goroutine for each message, which a timer of its own would
// begin, has first to grow its stack: that took a tenth of a short trial.
type Agenda struct {
	began time.Time
	timer *time.Timer // of what is due next

	mu    sync.Mutex
	plans plans
	made  int  // so far
	busy  bool // what is due is being done: who does it sets the timer
	over  bool
}

// Plan is something to do. It may be done at any time: it sees for itself what there is
// to do, and does not wait for anything.
type Plan struct {
	agenda *Agenda
	do     func()
	number int   // of those made on the agenda: at one instant they go in this order
	at     int64 // nanoseconds after the agenda began
	place  int   // among those that are set; -1: it is not
}

// NewAgenda begins one. In virtual time its bubble lasts until End.
func NewAgenda() *Agenda {
	a := &Agenda{began: time.Now(), timer: time.NewTimer(time.Hour)}
	a.timer.Stop() // until there is something to do
	go a.run()
	return a
}

// End ends it: nothing more is done.
func (a *Agenda) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.timer.Reset(0)
}

// New makes a plan that is not set.
func (a *Agenda) New(do func()) *Plan {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made++
	return &Plan{agenda: a, do: do, number: a.made, place: -1}
}

// Set has it done once, that long from now; not when it was set to before.
func (p *Plan) Set(after time.Duration) {
	a := p.agenda
	a.mu.Lock()
	defer a.mu.Unlock()
	p.at = a.now() + int64(after)
	if p.place < 0 {
		heap.Push(&a.plans, p)
	} else {
		heap.Fix(&a.plans, p.place)
	}
	if p.place == 0 && !a.busy && !a.over {
		a.timer.Reset(after)
	}
}

func (a *Agenda) now() int64 { return int64(time.Since(a.began)) }

func (a *Agenda) run() {
	for range a.timer.C {
		for {
			p, over := a.next()
			if over {
				return
			}
			if p == nil {
				break
			}
			p.do()
		}
	}
}

// next takes what is to be done now; if there is nothing, it sets the timer.
func (a *Agenda) next() (p *Plan, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = false
	if a.over || len(a.plans) == 0 {
		return nil, a.over
	}
	p = a.plans[0]
	if wait := p.at - a.now(); wait > 0 {
		a.timer.Reset(time.Duration(wait))
		return nil, false
	}
	a.busy = true
	heap.Pop(&a.plans)
	return p, false
}

// plans are those that are set, as a heap.
type plans []*Plan

func (q plans) Len() int { return len(q) }

func (q plans) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].number < q[j].number
}

func (q plans) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *plans) Push(p any) {
	one := p.(*Plan)
	one.place = len(*q)
	*q = append(*q, one)
}

func (q *plans) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	one.place = -1
	(*q)[last] = nil
	*q = (*q)[:last]
	return one
}
