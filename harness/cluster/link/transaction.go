package link

import "example.org/lockproof/harness/history"

// Between MULTI and EXEC a node answers a command with QUEUED, which says nothing of its effect. What became of it is
// in the answer to EXEC, which then answers all of them.

// answersQueued gives what a message from the node answers beside the command that it is the reply to. later: it
// answers not even that, which was queued.
func (c *connection) answersQueued(x *exchange, v value) (queued []answer, later bool) {
	switch {
	case v.kind == '+' && v.text == "QUEUED":
		c.queued = append(c.queued, x)
		return nil, true
	case x.command.Name != "EXEC" && x.command.Name != "DISCARD":
		return nil, false
	}
	for i, x := range c.queued {
		of := value{kind: '-', text: "the transaction was not carried out"}
		if v.kind == '*' && i < len(v.elements) {
			of = v.elements[i]
		}
		queued = append(queued, answer{x, of})
	}
	c.queued = nil
	return queued, false
}

// answer is a command and the reply to it.
type answer struct {
	*exchange
	value
}

// reply sees a message from the node set out.
func (f *flow) reply(m *message) {
	x := f.conn.answered(m.value)
	if x == nil {
		f.push(m) // not asked for
		return
	}
	queued, later := f.conn.answersQueued(x, m.value)
	if later {
		f.push(m)
		return
	}
	l := f.conn.link
	var affects *intercept
	for _, a := range append(queued, answer{x, m.value}) {
		l.replied(a.exchange, a.value)
		if affects == nil {
			affects = l.match(a.exchange, history.PartReply)
		}
	}
	f.admit(m, affects)
}
