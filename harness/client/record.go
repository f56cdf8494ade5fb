package client

import (
	"sync"
	"time"

	"example.org/lockproof/harness/history"
)

// recorder sends the client's messages, one at a time and in the order of the true clock.
type recorder struct {
	process string
	now     func() int64
	pause   *hold
	emit    func(Message)

	mu       sync.Mutex
	ids      int
	silenced bool
}

// next is the ID of a new operation.
func (r *recorder) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	return r.ids
}

// silence is for a killed client, which sends no more messages.
func (r *recorder) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silenced = true
}

func (r *recorder) silent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.silenced
}

// send sends a message without an event.
func (r *recorder) send(m Message) {
	r.pause.wait(orderThreads, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.silenced {
		r.emit(m)
	}
}

// record sends an event that happens now.
func (r *recorder) record(e history.Event) {
	r.measure(e, func(*history.Event) {})
}

// maxReadingGap bounds the time between two readings of the true clock, so that a value read between them counts as
// read at the second one.
const maxReadingGap = 100 * time.Microsecond

// measure sends an event with a value that read fills in at Time. A process that is suspended between the two would
// report an old value, so it repeats until the gap is short, at most a hundred times.
func (r *recorder) measure(e history.Event, read func(*history.Event)) {
	r.pause.wait(orderThreads, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.silenced {
		return
	}
	for range 100 {
		before := r.now()
		read(&e)
		e.Time = r.now()
		if e.Time-before <= int64(maxReadingGap) {
			break
		}
	}
	e.Process = r.process
	r.emit(Message{Event: &e})
}
