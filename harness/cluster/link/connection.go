package link

import (
	"net"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// Indices of the directions.
const (
	toNode   = 0
	toClient = 1
)

// connection is one connection over a link, from end to end.
type connection struct {
	link           *Link
	number         int
	client, server net.Conn
	flows          [2]*flow
	ends           int // directions not over yet

	awaiting     []*exchange // commands that the node has got and not answered
	queued       []*exchange // those of a transaction
	clientClosed bool        // the client has closed its end
	subscribed   bool        // it has sent SUBSCRIBE or its like
}

// exchange is a command on its way to an answer.
type exchange struct {
	command command
	serial  int64
	deed    string     // what it is to do to a lock's key, as far as that is known
	placed  int        // how many intercepts there had been when it set out
	met     *intercept // that was done to it for its deed
	// confirmed is how many of its channels the node has confirmed.
	confirmed int
}

func newConnection(l *Link, number int, client, server net.Conn) *connection {
	c := &connection{link: l, number: number, client: client, server: server, ends: 2}
	c.flows = [2]*flow{newFlow(c, toNode, server), newFlow(c, toClient, client)}
	return c
}

// closeBoth closes both ends.
func (c *connection) closeBoth() {
	c.client.Close()
	c.server.Close()
}

// asked notes that a command was passed on to the node.
func (c *connection) asked(x *exchange) {
	c.awaiting = append(c.awaiting, x)
	c.subscribed = c.subscribed || subscribes(x.command.Name)
}

// answered gives the command that a message from the node is the reply to: Redis answers the
// commands of one connection in order. It is nil if it answers none.
func (c *connection) answered(v value) *exchange {
	if len(c.awaiting) == 0 {
		return nil
	}
	x := c.awaiting[0]
	is, last := c.answers(v)
	if last {
		c.awaiting = c.awaiting[1:]
	}
	if !is || x.confirmed > 1 { // it was answered by the first
		return nil
	}
	return x
}

// over notes that a side has closed its end. A node that does so before the client
// may be gone, and comes back without its scripts.
func (c *connection) over(direction int) {
	if direction == toNode {
		c.clientClosed = true
	} else if !c.clientClosed {
		c.link.cfg.Scripts.Forget(c.link.cfg.Node)
	}
}

// end is where a direction of a connection writes to. toxiproxy stops reading
// its toxics' output when a write fails, and leaves them blocked for ever; so a
// failed write is no error here: the bytes are lost, as on any broken
// connection, and the flow runs dry.
type end struct {
	net.Conn
	flow *flow
}

// Write writes to whoever is there. Nobody may be: then the bytes are lost, and the other
// direction brings the end, behind what was sent before it.
func (e *end) Write(b []byte) (int, error) {
	_, _ = e.Conn.Write(b)
	return len(b), nil
}

// Close ends a direction; it is called once. Over TCP the node is heard out whose client
// has gone: what it answers tells whether it did what it was asked, and the kernel of a
// client that was killed takes such an answer, too.
func (e *end) Close() error {
	c := e.flow.conn
	node, halves := e.Conn.(interface{ CloseWrite() error })
	if halves && e.flow.direction == toNode {
		_ = node.CloseWrite()
		c.client.Close()
	} else {
		e.Conn.Close()
	}
	c.link.ended(c)
	return nil
}

// In RESP3 a node sends messages that nobody asked for: a push begins with >, and an attribute,
// which stands before a reply, with |. In RESP2 what is sent to a subscriber is an array, which
// begins with the same words. SUBSCRIBE and its like have no reply but such a message for each
// channel.

// confirmations are the words with which these commands are confirmed.
var confirmations = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"}

// messages are the words of what subscribers are sent.
var messages = []string{"message", "pmessage", "smessage"}

// subscribes says whether a command is confirmed so, in capitals.
func subscribes(name string) bool { return strings.HasSuffix(name, "SUBSCRIBE") }

// answers says whether a message from the node answers the command that waits longest, and
// whether it is the last that does.
func (c *connection) answers(v value) (is, last bool) {
	x := c.awaiting[0]
	if v.kind == '|' {
		return false, false
	}
	word := ""
	if len(v.elements) > 0 && (v.kind == '>' || c.subscribed && v.kind == '*') {
		word = strings.ToLower(v.elements[0].text)
	}
	confirms := slices.Contains(confirmations, word)
	switch {
	case v.kind != '>' && !confirms && !slices.Contains(messages, word):
		return true, true
	case !confirms || x.command.Name != strings.ToUpper(word):
		return false, false
	}
	x.confirmed++
	return true, x.confirmed >= x.command.channels
}

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
