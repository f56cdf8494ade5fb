package link

import (
	"bytes"

	"example.org/lockproof/harness/cluster"
)

// Between MULTI and EXEC a node answers a command with QUEUED, which says nothing of its effect. What became of it is
// in the answer to EXEC, which then answers all of them.

// answersQueued gives what a message from the node answers beside the command that it is the reply to. later: it
// answers not even that, which was queued.
func (c *connection) answersQueued(x *exchange, data []byte) (queued []answer, later bool) {
	switch {
	case string(data) == "+QUEUED\r\n":
		c.queued = append(c.queued, x)
		return nil, true
	case x.command.Name != "EXEC" && x.command.Name != "DISCARD":
		return nil, false
	}
	replies := elementsOf(data)
	for i, x := range c.queued {
		of := reply{text: "error: the transaction was not carried out", err: true}
		if i < len(replies) {
			of = parseReply(replies[i])
		}
		queued = append(queued, answer{x, of})
	}
	c.queued = nil
	return queued, false
}

// answer is a command and the reply to it.
type answer struct {
	*exchange
	reply
}

// elementsOf gives the elements of an array, none of anything else.
func elementsOf(data []byte) [][]byte {
	if len(data) == 0 || data[0] != '*' {
		return nil
	}
	var all [][]byte
	for at := bytes.IndexByte(data, '\n') + 1; at < len(data); {
		size, err := length(data[at:])
		if err != nil || size == 0 {
			return all
		}
		all = append(all, data[at:at+size])
		at += size
	}
	return all
}

// reply sees a message from the node set out.
func (f *flow) reply(m *message) {
	x := f.conn.answered(m.data)
	if x == nil {
		f.push(m) // not asked for
		return
	}
	queued, later := f.conn.answersQueued(x, m.data)
	if later {
		f.push(m)
		return
	}
	l := f.conn.link
	var affects *intercept
	for _, a := range append(queued, answer{x, parseReply(m.data)}) {
		l.replied(a.exchange, a.reply)
		if affects == nil {
			affects = l.match(a.exchange, cluster.PartReply)
		}
	}
	f.admit(m, affects)
}
