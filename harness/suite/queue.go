package suite

import (
	"runtime"
	"sync"
)

// ticket is one trial to run.
type ticket struct {
	row, trial int
	job        Job
	// busy: its clients work in loops, and keep half a core busy; those of a
	// script wait most of the time.
	busy bool
	// firstAttempt is what came of it when it was held up beside others; nil: it was not. It
	// has no other beside it any more.
	firstAttempt *Result
}

// queue hands tickets out in the order of the rows, with two exceptions. When as
// many busy trials are under way as there are processors, those that are not
// overtake those that are: more would hold each other up, and prove nothing. And those
// that were held up come last, one at a time.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond // a trial has ended, or the queue is empty
	waiting []ticket
	stalled []ticket // were held up
	running int      // how many are under way
	busy    int      // how many busy ones of these
	closed  bool     // nothing more is handed out
}

// newQueue lists a ticket for each of so many trials of each row, as far as they are
// in its share.
func newQueue(jobs []Job, trials int) *queue {
	q := &queue{}
	q.changed.L = &q.mu
	for row, j := range jobs {
		for trial := j.Share.First; trial < max(trials, 1); trial += j.Share.step() {
			q.waiting = append(q.waiting, ticket{row: row, trial: trial, job: j, busy: j.Scenario.Workload != nil})
		}
	}
	return q
}

// next takes the first ticket that may be run now, and waits for one if need be;
// false if there are no more. done gives it back.
func (q *queue) next() (ticket, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (len(q.waiting) > 0 || len(q.stalled) > 0) {
		if t, ready := q.ready(); ready {
			q.running++
			if t.busy {
				q.busy++
			}
			return t, true
		}
		q.changed.Wait()
	}
	return ticket{}, false
}

// ready takes a ticket that may be run now off the queue. The caller holds the lock.
func (q *queue) ready() (ticket, bool) {
	for i, t := range q.waiting {
		if t.busy && q.busy >= runtime.GOMAXPROCS(0) {
			continue
		}
		copy(q.waiting[1:i+1], q.waiting[:i]) // few are passed over, and many wait behind them
		q.waiting = q.waiting[1:]
		return t, true
	}
	if len(q.waiting) > 0 || len(q.stalled) == 0 || q.running > 0 {
		return ticket{}, false
	}
	t := q.stalled[0]
	q.stalled = q.stalled[1:]
	return t, true
}

// done says that a ticket's trial is over.
func (q *queue) done(t ticket) { q.finish(t, nil) }

// retryAlone says that a ticket's trial was held up: it is tried again, alone.
func (q *queue) retryAlone(t ticket, came Result) { q.finish(t, &came) }

func (q *queue) finish(t ticket, held *Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if t.busy {
		q.busy--
	}
	if held != nil {
		t.firstAttempt = held
		q.stalled = append(q.stalled, t)
	}
	q.changed.Broadcast()
}

// close throws away what is still waiting; what came of those that were held up stays.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.closed = nil, true
	q.changed.Broadcast()
}

// requeue takes back a ticket that was handed out too late to be used.
func (q *queue) requeue(t ticket) {
	if t.firstAttempt != nil {
		q.retryAlone(t, *t.firstAttempt)
	}
}

// remaining are those that were held up and have not been tried again.
func (q *queue) remaining() []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stalled
}
