package link

import (
	"bytes"
	"net"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// flow is one direction of one connection. It splits the stream into messages, draws each one's travel time, records
// it, and applies the link's faults. In memory the scheduler delivers messages; over TCP a toxic fetches them.
type flow struct {
	conn      *connection
	direction int
	to        end
	timer     *scheduler.Timer // in memory: delivers messages that are due
	wake      chan struct{}    // over TCP: signals a change

	raw      bool // not RESP, or opaque: passed on unread
	partial  []byte
	messages int
	last     time.Time  // due time of the previous message
	queue    []*message // in transit, not yet recorded
	under    []*message // recorded, possibly under a cut or a delay
	dead     bool       // a message was lost: later ones are lost too, except the end of the stream
}

// message is a RESP value in transit, or unread data.
type message struct {
	value
	due     time.Time
	left    time.Time // when it was recorded
	held    bool
	end     bool      // the end of the stream instead of a message
	command *exchange // nil for replies
}

// newFlow makes a flow of a connection to one end.
func newFlow(c *connection, direction int, to net.Conn) *flow {
	l := c.link
	f := &flow{conn: c, direction: direction, raw: l.cfg.Opaque, wake: make(chan struct{}, 1)}
	f.to = end{to, f}
	if l.cfg.Direct != nil {
		f.timer = l.cfg.Direct.NewTimer(scheduler.Key{Class: scheduler.Arrival, A: l.cfg.Order, B: c.number,
			C: direction}, f.pass)
		if direction == toNode { // a node receives without a goroutine
			f.timer.Passive()
		}
	}
	return f
}

var _ Sink = (*flow)(nil)

// change applies a change under the lock and schedules the next delivery.
func (f *flow) change(apply func()) {
	f.conn.link.mu.Lock()
	defer f.conn.link.mu.Unlock()
	apply()
	f.schedule()
}

// Feed receives data.
func (f *flow) Feed(data []byte) {
	f.change(func() { f.receive(data) })
}

// Close queues the end of the stream, which travels behind earlier messages: the kernel of a dead process still
// delivers its data, and its peer learns of the death by a message, too.
func (f *flow) Close() {
	f.change(func() {
		f.conn.closed(f.direction)
		f.queue = append(f.queue, &message{due: f.arrival(), end: true})
	})
}

// receive splits data into messages and queues them.
func (f *flow) receive(data []byte) {
	if f.raw {
		f.pushRaw(data)
		return
	}
	f.partial = append(f.partial, data...)
	for {
		v, err := read(f.partial)
		if err != nil { // not RESP: passed on unread
			f.raw = true
			f.pushRaw(f.partial)
			f.partial = nil
			return
		}
		if v.data == nil {
			return // incomplete
		}
		m := &message{value: v, due: f.arrival()}
		f.partial = f.partial[len(v.data):]
		f.messages++
		if observe := f.conn.link.observer; observe != nil {
			m.held = observe() && f.direction == toNode
		}
		if f.direction == toNode {
			f.send(m)
		} else {
			f.reply(m)
		}
	}
}

// pushRaw queues unread bytes.
func (f *flow) pushRaw(data []byte) {
	f.push(&message{value: value{data: bytes.Clone(data)}, due: f.arrival()})
	f.messages++
}

// arrival is the due time of a message sent now. Messages never overtake one another.
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

// send queues a message to the node.
func (f *flow) send(m *message) {
	l := f.conn.link
	m.command = &exchange{command: l.read(m.words())}
	l.findIntent(m.command)
	f.admit(m, l.match(m.command, history.PartCommand))
}

// admit queues a message and applies the intercept, if any.
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

// hurry makes delayed messages due now.
func (f *flow) hurry() {
	for i := range f.under {
		f.under[i].due = time.Now()
	}
}

func (f *flow) isCut() bool { return f.conn.link.cuts[f.direction] > 0 }

// due is the time of the next known delivery.
func (f *flow) due() (at time.Time, known bool) {
	if len(f.queue) > 0 && !f.queue[0].held {
		at, known = f.queue[0].due, true
	}
	if len(f.under) > 0 && !f.isCut() && (!known || f.under[0].due.Before(at)) {
		at, known = f.under[0].due, true
	}
	return at, known
}

// schedule arranges the next delivery.
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

// pass advances due messages and delivers one.
func (f *flow) pass() {
	var m *message
	f.change(func() { m = f.next() })
	switch {
	case m == nil:
	case m.end:
		_ = f.to.Close() // never fails
	default:
		_, _ = f.to.Write(m.data) // never fails
	}
}

// next records due messages as sent, and returns the next arriving one, or nil.
func (f *flow) next() *message {
	l := f.conn.link
	for len(f.queue) > 0 && !f.queue[0].held && time.Until(f.queue[0].due) <= 0 {
		m, now := f.queue[0], time.Now()
		f.queue = f.queue[1:]
		m.left, m.due = now, now.Add(l.delay(f.direction))
		f.under = append(f.under, m)
		if !m.end {
			for _, m := range l.meters[f.direction] {
				m.setOut()
			}
		}
		if m.command != nil {
			l.reached(m.command)
			f.conn.delivered(m.command)
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

// record records a command, or its reply if there is one. A refusal of what the cluster does not model shows nothing
// about the lock.
func (l *Link) record(x *exchange, r *value) {
	if l.cfg.Record != nil && r != nil && r.failed() && strings.Contains(r.text, history.Unmodelled) {
		l.cfg.Record(history.Event{Time: l.cfg.Now(), Process: l.name, Type: history.TypeNote,
			Reason: history.ReasonPreconditionFailed,
			Text:   unmodelled(x.command.Name, r.text) + " " + history.Unmodelled + ": use the local one"})
	}
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

// unmodelled names what a node refused: the command sent, or the one in its script or its transaction.
func unmodelled(sent, refusal string) string {
	before, _, _ := strings.Cut(refusal, " "+history.Unmodelled)
	begins := strings.LastIndex(before, "ERR ")
	if begins < 0 || strings.Contains(before, "ERR unknown command ") {
		return sent
	}
	return before[begins+len("ERR "):]
}

func (l *Link) records(c command) bool {
	// The reply to WAIT explains a lock's trust in its replicas. The effect of an unknown script may be known by the time
	// of its reply.
	return l.cfg.Record != nil && (c.Effect != "" || c.Name == "WAIT" || c.unknown)
}
