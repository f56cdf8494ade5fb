package link

import (
	"bytes"
	"sync"
	"time"
)

// lane is one direction of a connection in memory, from its flow to its end, with no
// toxiproxy between: it does to messages what latency toxics would (cuts and delays), in
// the goroutine that writes or in that of the agenda. toxiproxy takes four goroutines for a
// direction, and hands each message from one to the next: most of the time of a run in
// virtual time.
type lane struct {
	flow *flow
	end  *end
	plan *Plan // to pass on what falls due

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

func newLane(a *Agenda, f *flow, e *end, cut bool, delay time.Duration) *lane {
	l := &lane{flow: f, end: e, cut: cut, delay: delay}
	l.plan = a.New(l.tick)
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
	l.run()
}

// Close takes the end of the stream.
func (l *lane) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flow.end()
	l.run()
}

// tick passes on what has fallen due.
func (l *lane) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run()
}

// hold begins a cut, or ends it: what it held goes on at once.
func (l *lane) hold(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = on
	l.run()
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
	l.run()
}

// run passes on what is due and sees to it that somebody does when the next is. The
// caller holds the lock.
func (l *lane) run() {
	wait := l.leave()
	if w := l.arrive(); w > 0 && (wait == 0 || w < wait) {
		wait = w
	}
	if wait > 0 {
		l.plan.Set(wait)
	}
}

// leave lets what is due leave the flow, and says how long the next has to wait, 0 if
// none is known to.
func (l *lane) leave() time.Duration {
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
		return wait
	}
}

// arrive hands to the end what is due there, and says how long the next has to wait, 0
// if there is none or nobody knows.
func (l *lane) arrive() time.Duration {
	for len(l.under) > 0 && !l.cut {
		c := l.under[0]
		if wait := time.Until(c.due); wait > 0 {
			return wait
		}
		l.under = rest(l.under)
		if c.data == nil {
			_ = l.end.Close() // it has no error
			continue
		}
		_, _ = l.end.Write(c.data) // nor has this
	}
	return 0
}
