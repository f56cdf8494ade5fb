package client

import (
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// recorder sends what happens to the client, one message at a time and in the
// order of the true clock.
type recorder struct {
	process string
	now     func() int64
	pause   *hold
	key     scheduler.Key // with which it goes on after a pause
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

// silence ends it: a killed client says nothing more.
func (r *recorder) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silenced = true
}

// send sends a message that is no event.
func (r *recorder) send(m Message) {
	r.pause.wait(r.key)
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

// maxReadingGap is how far apart two readings of the true clock may be for what was
// read between them to count as read at one time.
const maxReadingGap = 100 * time.Microsecond

// measure sends an event with something that is read as it happens: read fills
// it in, and Time is when. A process that is stopped between the two would
// report what was true at another time, so it reads again until nothing came
// between; a machine too busy for that gives up after a hundred readings.
func (r *recorder) measure(e history.Event, read func(*history.Event)) {
	r.pause.wait(r.key)
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
