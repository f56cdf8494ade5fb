package link

import (
	"bytes"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// lane is one direction of a connection in memory, from its flow to its end, with no
// toxiproxy between: it does to messages what latency toxics would (cuts and delays), one
// message an event. toxiproxy takes four goroutines for a direction, and hands each message
// from one to the next: most of the time of a run in virtual time.
type lane struct {
	flow *flow
	end  *end
	next *scheduler.Timer // passes on what falls due

	mu    sync.Mutex
	cut   bool
	delay time.Duration
	under []chunk // under way: they have left the flow
	over  bool    // the last of them is the end of the stream
}

// chunk is a message, or the end of the stream, which has no data.
type chunk struct {
	data []byte
	due  time.Time
}

var _ Sink = (*lane)(nil)

func newLane(s *scheduler.Scheduler, f *flow, e *end, cut bool, delay time.Duration) *lane {
	l := &lane{flow: f, end: e, cut: cut, delay: delay}
	l.next = s.NewTimer(scheduler.Key{Class: scheduler.Arrival, A: f.conn.link.cfg.Order, B: f.conn.number,
		C: f.direction}, l.pass)
	if f.direction == toNode { // a node takes what arrives without a goroutine
		l.next.Passive()
	}
	return l
}

// Feed takes what is written.
func (l *lane) Feed(data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flow.raw { // it keeps what it is given
		data = bytes.Clone(data)
	}
	l.flow.take(data)
	l.schedule()
}

// Close takes the end of the stream.
func (l *lane) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flow.end()
	l.schedule()
}

// changed hears that a held message may go on.
func (l *lane) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule()
}

// hold begins a cut, or ends it: what it held goes on at once.
func (l *lane) hold(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = on
	l.schedule()
}

// slow sets the delay of messages that leave the flow from now on; those that one delayed
// go on at once.
func (l *lane) slow(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for i := range l.under {
		l.under[i].due = now
	}
	l.delay = by
	l.schedule()
}

// schedule sees to it that the next message is passed on when it is due. The caller holds
// the lock.
func (l *lane) schedule() {
	due, known := l.flow.due()
	if !known && !l.over && l.flow.done() {
		due, known = time.Now(), true
	}
	if len(l.under) > 0 && !l.cut && (!known || l.under[0].due.Before(due)) {
		due, known = l.under[0].due, true
	}
	if known {
		l.next.Set(time.Until(due))
	}
}

// pass lets what is due leave the flow, and one message arrive.
func (l *lane) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave()
	l.arrive()
	l.schedule()
}

// leave lets what is due leave the flow. The caller holds the lock.
func (l *lane) leave() {
	for {
		data, wait := l.flow.next()
		switch {
		case data != nil:
			l.under = append(l.under, chunk{data, time.Now().Add(l.delay)})
			l.flow.sent()
			continue
		case wait == 0 && !l.over && l.flow.done():
			l.over = true
			l.under = append(l.under, chunk{nil, time.Now()})
		}
		return
	}
}

// arrive hands the first message to the end, if it is due there. The caller holds the lock.
func (l *lane) arrive() {
	if len(l.under) == 0 || l.cut || time.Until(l.under[0].due) > 0 {
		return
	}
	c := l.under[0]
	l.under = rest(l.under)
	if c.data == nil {
		_ = l.end.Close() // it has no error
		return
	}
	_, _ = l.end.Write(c.data) // nor has this
}
