package link

import (
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// flow is one direction of one connection: the messages on their way.
type flow struct {
	conn      *connection
	direction int
	wake      chan struct{} // told when a held message was let go

	// Used by the toxic's goroutine only.
	ended    bool // nothing more will come in
	raw      bool // not RESP, or not ours: passed on as it is
	partial  []byte
	messages int
	last     time.Time // when the message before falls due

	mu    sync.Mutex
	queue []*message
	dead  bool // a message was lost here, and with it all that follow

	transitMu sync.Mutex
	transits  []inTransit
	out, in   int // bytes that left the toxic, and that arrived at the end
}

// message is one RESP value on its way.
type message struct {
	data  []byte
	due   time.Time
	held  bool
	noted bool      // it was counted and recorded as passed on
	ask   *exchange // set on a command
}

// commandMessage is the message of a command, with what becomes of it.
type commandMessage struct {
	message
	exchange
}

func newFlow(c *connection, direction int) *flow {
	return &flow{conn: c, direction: direction, wake: make(chan struct{}, 1), raw: c == nil || c.link.cfg.Opaque}
}

// take cuts what came in into messages and queues them.
func (f *flow) take(data []byte) {
	if f.raw {
		f.pass(data)
		return
	}
	f.partial = append(f.partial, data...)
	for {
		n, err := length(f.partial)
		if err != nil { // not RESP: no business of ours
			f.raw = true
			f.pass(f.partial)
			f.partial = nil
			return
		}
		if n == 0 {
			return // the rest is still to come
		}
		data, due := f.partial[:n:n], f.arrival()
		f.partial = f.partial[n:]
		f.messages++
		if f.direction == toNode {
			c := &commandMessage{}
			c.message = message{data: data, due: due, ask: &c.exchange}
			f.command(&c.message)
		} else {
			f.reply(&message{data: data, due: due})
		}
	}
}

// end takes the end of the stream, which travels as a message does, behind what was
// sent before it: a process that dies has written what its kernel has yet to
// deliver, and who is at the other end learns of its death by a message, too.
func (f *flow) end() {
	f.ended = true
	if f.conn != nil {
		f.conn.over(f.direction)
		f.push(&message{data: []byte{}, due: f.arrival(), noted: true})
		f.messages++
	}
}

// pass queues bytes that are not read.
func (f *flow) pass(data []byte) {
	due := time.Now()
	if f.conn != nil {
		due = f.arrival()
		f.messages++
	}
	f.push(&message{data: data, due: due})
}

// arrival is when a message that sets out now is there, not before the one
// ahead of it.
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
	m.ask.command = l.read(m.data)
	l.matchEffect(m.ask)
	f.admit(m, l.match(m.ask, cluster.PartCommand))
}

// reply sees a message from the node set out.
func (f *flow) reply(m *message) {
	x := f.conn.answered(m.data)
	if x == nil {
		f.push(m) // not asked for
		return
	}
	l := f.conn.link
	l.replied(x, parseReply(m.data))
	f.admit(m, l.match(x, cluster.PartReply))
}

// admit queues a message and does to it what an intercept has ordered, unless all
// was let go in the meantime.
func (f *flow) admit(m *message, o order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.of != nil && o.letGoes == f.conn.link.releases.Load() {
		o.of.affected.add()
		switch o.of.Action {
		case cluster.Hold:
			m.held = true
		case cluster.Lose:
			f.dead = true
		case cluster.Drop:
			f.conn.closeBoth()
			return
		}
	}
	f.queueUp(m)
}

func (f *flow) push(m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queueUp(m)
}

// queueUp queues a message. f.mu is held.
func (f *flow) queueUp(m *message) {
	if !f.dead {
		f.queue = append(f.queue, m)
	}
}

// next gives the bytes to pass on now, or how long the first message has still
// to travel; neither, if there is nothing to do but wait.
func (f *flow) next() (data []byte, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 || f.queue[0].held {
		return nil, 0
	}
	m := f.queue[0]
	if wait = time.Until(m.due); wait > 0 {
		return nil, wait
	}
	if !m.noted {
		m.noted = true
		f.leaves(len(m.data))
		if m.ask != nil {
			f.conn.link.reached(m.ask)
			f.conn.asked(m.ask)
		}
	}
	return m.data, 0
}

// due is when the first message may be passed on, as far as that is known.
func (f *flow) due() (at time.Time, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 || f.queue[0].held {
		return time.Time{}, false
	}
	return f.queue[0].due, true
}

// sent notes that the first message was passed on.
func (f *flow) sent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = rest(f.queue)
}

// done reports whether nothing is left to pass on, now or later.
func (f *flow) done() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended && len(f.queue) == 0
}

// letGo frees what an intercept holds and says how many messages that were.
func (f *flow) letGo() (held int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.queue {
		if m.held {
			m.held = false
			m.due = time.Now()
			held++
		}
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return held
}

// recorded records a command, or its reply if there is one.
func (l *Link) recorded(x *exchange, r *reply) {
	if !l.records(x.command) {
		return
	}
	e := history.Event{Time: l.cfg.Now(), Process: l.name, Type: history.TypeCommand, Key: x.command.Key,
		Command: x.command.event(x.serial, l.cfg.Epoch)}
	if r != nil {
		e.Type, e.Command.Reply, e.Command.Done = history.TypeReply, shorten(r.text), x.command.done(*r)
	}
	l.cfg.Record(e)
}

func (l *Link) records(c command) bool {
	// What a WAIT was answered tells why a lock believed in its replicas. What a script
	// does that nobody has seen yet may come out by the time that it is answered.
	return l.cfg.Record != nil && (c.Effect != "" || c.Name == "WAIT" || c.unknown)
}
