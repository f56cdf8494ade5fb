package link

import (
	"bytes"
	"net"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// flow is one direction of one connection. It cuts the stream into messages, gives each its travel time, records it,
// and cuts, delays, holds and loses what the link's faults say. In memory it passes messages on by events; over TCP a
// toxic asks it for them.
type flow struct {
	conn      *connection
	direction int
	to        end
	timer     *scheduler.Timer // in memory: passes on what falls due
	wake      chan struct{}    // over TCP: something has changed

	raw      bool // not RESP, or not ours: passed on as it is
	partial  []byte
	messages int
	last     time.Time  // when the message before falls due
	queue    []*message // they travel, and have not been recorded
	under    []*message // recorded, and kept by cuts and delays at most
	dead     bool       // a message was lost here, and with it all that follow but the end of the stream
}

// message is one RESP value on its way, or data that are not read.
type message struct {
	value
	due  time.Time
	left time.Time // when it was recorded
	held bool
	end  bool      // no message, but the end of the stream
	ask  *exchange // set on a command
}

// newFlow makes a flow of a connection to one end.
func newFlow(c *connection, direction int, to net.Conn) *flow {
	l := c.link
	f := &flow{conn: c, direction: direction, raw: l.cfg.Opaque, wake: make(chan struct{}, 1)}
	f.to = end{to, f}
	if l.cfg.Direct != nil {
		f.timer = l.cfg.Direct.NewTimer(scheduler.Key{Class: scheduler.Arrival, A: l.cfg.Order, B: c.number,
			C: direction}, f.pass)
		if direction == toNode { // a node takes what arrives without a goroutine
			f.timer.Passive()
		}
	}
	return f
}

var _ Sink = (*flow)(nil)

// change changes something, and sees to it that what is due then goes on.
func (f *flow) change(what func()) {
	f.conn.link.mu.Lock()
	defer f.conn.link.mu.Unlock()
	what()
	f.schedule()
}

// Feed takes what comes in.
func (f *flow) Feed(data []byte) {
	f.change(func() { f.take(data) })
}

// Close takes the end of the stream, which travels as a message does, behind what was sent before it: a process that
// dies has written what its kernel has yet to deliver, and whoever is at the other end learns of its death by a
// message, too.
func (f *flow) Close() {
	f.change(func() {
		f.conn.over(f.direction)
		f.queue = append(f.queue, &message{due: f.arrival(), end: true})
	})
}

// take cuts what came in into messages and queues them.
func (f *flow) take(data []byte) {
	if f.raw {
		f.pushRaw(data)
		return
	}
	f.partial = append(f.partial, data...)
	for {
		v, err := read(f.partial)
		if err != nil { // not RESP: no business of ours
			f.raw = true
			f.pushRaw(f.partial)
			f.partial = nil
			return
		}
		if v.data == nil {
			return // the rest is still to come
		}
		m := &message{value: v, due: f.arrival()}
		f.partial = f.partial[len(v.data):]
		f.messages++
		if f.direction == toNode {
			f.command(m)
		} else {
			f.reply(m)
		}
	}
}

// pushRaw queues bytes that are not read.
func (f *flow) pushRaw(data []byte) {
	f.push(&message{value: value{data: bytes.Clone(data)}, due: f.arrival()})
	f.messages++
}

// arrival is when a message that sets out now is there, not before the one ahead of it.
func (f *flow) arrival() time.Time {
	due := time.Now()
	if travel := f.conn.link.cfg.Travel; travel != nil {
		due = due.Add(travel(f.direction == toNode, f.conn.number, f.messages))
	}
	if due.Before(f.last) {
		due = f.last
	}
	f.last = due
	return due
}

// command sees a message to the node set out.
func (f *flow) command(m *message) {
	l := f.conn.link
	m.ask = &exchange{command: l.read(m.words())}
	l.matchEffect(m.ask)
	f.admit(m, l.match(m.ask, history.PartCommand))
}

// admit queues a message and does to it what an intercept has ordered, if one has.
func (f *flow) admit(m *message, i *intercept) {
	if i != nil {
		i.affected = append(i.affected, time.Now())
		switch i.Action {
		case cluster.Hold:
			m.held = true
		case cluster.Lose:
			f.dead = true
		case cluster.Drop:
			f.conn.closeBoth()
			return
		}
	}
	f.push(m)
}

func (f *flow) push(m *message) {
	if !f.dead {
		f.queue = append(f.queue, m)
	}
}

// hurry lets what a delay holds go on at once.
func (f *flow) hurry() {
	for i := range f.under {
		f.under[i].due = time.Now()
	}
}

func (f *flow) isCut() bool { return f.conn.link.cuts[f.direction] > 0 }

// due is when something goes on next, as far as that is known.
func (f *flow) due() (at time.Time, known bool) {
	if len(f.queue) > 0 && !f.queue[0].held {
		at, known = f.queue[0].due, true
	}
	if len(f.under) > 0 && !f.isCut() && (!known || f.under[0].due.Before(at)) {
		at, known = f.under[0].due, true
	}
	return at, known
}

// schedule sees to it that what is due next goes on then.
func (f *flow) schedule() {
	if f.timer == nil {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	} else if due, known := f.due(); known {
		f.timer.Set(time.Until(due))
	}
}

// pass lets what is due go on, and one message arrive.
func (f *flow) pass() {
	var m *message
	f.change(func() { m = f.next() })
	switch {
	case m == nil:
	case m.end:
		_ = f.to.Close() // it has no error
	default:
		_, _ = f.to.Write(m.data) // nor has this
	}
}

// next lets what is due set out, and gives what arrives; nil: nothing does.
func (f *flow) next() *message {
	l := f.conn.link
	for len(f.queue) > 0 && !f.queue[0].held && time.Until(f.queue[0].due) <= 0 {
		m, now := f.queue[0], time.Now()
		f.queue = f.queue[1:]
		m.left, m.due = now, now.Add(l.delays[f.direction])
		f.under = append(f.under, m)
		if !m.end {
			for _, m := range l.meters[f.direction] {
				m.setOut()
			}
		}
		if m.ask != nil {
			l.reached(m.ask)
			f.conn.asked(m.ask)
		}
	}
	if len(f.under) == 0 || f.isCut() || time.Until(f.under[0].due) > 0 {
		return nil
	}
	arrives := f.under[0]
	f.under = f.under[1:]
	if !arrives.end {
		for _, m := range l.meters[f.direction] {
			m.passed(arrives.left)
		}
	}
	return arrives
}

// recorded records a command, or its reply if there is one.
func (l *Link) recorded(x *exchange, r *value) {
	if !l.records(x.command) {
		return
	}
	e := history.Event{Time: l.cfg.Now(), Process: l.name, Type: history.TypeCommand, Key: x.command.Key,
		Command: x.command.event(x.serial, l.cfg.Epoch)}
	if r != nil {
		e.Type, e.Command.Reply, e.Command.Done = history.TypeReply, shorten(r.String()), x.command.done(*r)
	}
	l.cfg.Record(e)
}

func (l *Link) records(c command) bool {
	// What a WAIT was answered tells why a lock believed in its replicas. What a script
	// does that nobody has seen yet may come out by the time that it is answered.
	return l.cfg.Record != nil && (c.Effect != "" || c.Name == "WAIT" || c.unknown)
}
