package suite

import (
	"runtime"
	"sync"
)

// ticket is one trial to run.
type ticket struct {
	row, trial int
	// busy: its clients work in loops, and keep half a core busy; those of a
	// script wait most of the time.
	busy bool
}

// queue hands tickets out in the order of the rows, with one exception. When as
// many busy trials are under way as there are processors, those that are not
// overtake those that are: more would hold each other up, and prove nothing.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond // a trial has ended, or the queue is closed
	waiting []ticket
	busy    int  // how many busy ones are under way
	closed  bool // nothing more is handed out
}

// newQueue lists a ticket for each of so many trials of each row, as far as they are
// in its share.
func newQueue(jobs []Job, trials int) *queue {
	q := &queue{}
	q.changed.L = &q.mu
	for row, j := range jobs {
		for trial := j.Share.First; trial < max(trials, 1); trial += j.Share.step() {
			q.waiting = append(q.waiting, ticket{row, trial, j.Scenario.Workload != nil})
		}
	}
	return q
}

// next takes the first ticket that may be run now, and waits for one if need be;
// false if there are no more.
func (q *queue) next() (ticket, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.waiting) > 0 {
		for i, t := range q.waiting {
			if t.busy && q.busy >= runtime.GOMAXPROCS(0) {
				continue
			}
			copy(q.waiting[1:i+1], q.waiting[:i]) // few are passed over, and many wait behind them
			q.waiting = q.waiting[1:]
			if t.busy {
				q.busy++
			}
			return t, true
		}
		q.changed.Wait()
	}
	return ticket{}, false
}

// done says that a ticket's trial is over.
func (q *queue) done(t ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.busy {
		q.busy--
	}
	q.changed.Broadcast()
}

// close throws away what is still waiting.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}
