package link

import (
	"net"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// The indices of the directions.
const (
	toNode   = 0
	toClient = 1
)

// connection is one connection over a link.
type connection struct {
	link           *Link
	number         int
	client, server net.Conn
	flows          [2]*flow
	ends           int // open directions

	awaiting     []*exchange // commands at the node without a reply
	queued       []*exchange // commands of an open transaction
	clientClosed bool
	subscribed   bool // the client has sent a subscribing command
}

// exchange is a command and its pending reply.
type exchange struct {
	command command
	serial  int64
	intent  string     // "" if there is none or it is unknown; see command.intent
	placed  int        // number of intercepts placed before it was sent
	met     *intercept // the intercept that affected it because of its intent
	// confirmed is the number of channels that the node has confirmed.
	confirmed int
}

func newConnection(l *Link, number int, client, server net.Conn) *connection {
	c := &connection{link: l, number: number, client: client, server: server, ends: 2}
	c.flows = [2]*flow{newFlow(c, toNode, server), newFlow(c, toClient, client)}
	return c
}

func (c *connection) closeBoth() {
	c.client.Close()
	c.server.Close()
}

// delivered records that the node has received a command.
func (c *connection) delivered(x *exchange) {
	c.awaiting = append(c.awaiting, x)
	c.subscribed = c.subscribed || subscribes(x.command.Name)
}

// answered returns the command that a node's message replies to, nil if it is not a reply. Redis answers the commands
// of one connection in order.
func (c *connection) answered(v value) *exchange {
	if len(c.awaiting) == 0 {
		return nil
	}
	x := c.awaiting[0]
	is, last := c.answers(v)
	if last {
		c.awaiting = c.awaiting[1:]
	}
	if !is || x.confirmed > 1 { // the first confirmation was the reply
		return nil
	}
	return x
}

// closed records that the sender of a direction has closed its end. If the node closes before the client, it may have
// died, and may restart without its scripts.
func (c *connection) closed(direction int) {
	if direction == toNode {
		c.clientClosed = true
	} else if !c.clientClosed {
		c.link.cfg.Scripts.Forget(c.link.cfg.Node)
	}
}

// end is the receiving end of a direction.
type end struct {
	net.Conn
	flow *flow
}

// Write never fails: after a failed write toxiproxy stops reading its toxics' output and blocks them for ever. Bytes
// for a closed receiver are lost, and the other direction delivers the end behind earlier messages.
func (e *end) Write(b []byte) (int, error) {
	_, _ = e.Conn.Write(b)
	return len(b), nil
}

// Close ends a direction; it is called once. Over TCP the link still reads the node's replies after the client has
// closed: they show which commands took effect, and the kernel of a killed client receives such replies, too.
func (e *end) Close() error {
	c := e.flow.conn
	node, canCloseWrite := e.Conn.(interface{ CloseWrite() error })
	if canCloseWrite && e.flow.direction == toNode {
		_ = node.CloseWrite()
		c.client.Close()
	} else {
		e.Conn.Close()
	}
	c.link.ended(c)
	return nil
}

// In RESP3 a node sends unsolicited messages: a push begins with >, and an attribute, which precedes a reply, with |.
// In RESP2 a message to a subscriber is an array with the same first word. SUBSCRIBE and its like get one such message
// for each channel instead of a reply.

// confirmations are the first words of confirmations of these commands.
var confirmations = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"}

// messages are the first words of messages to subscribers.
var messages = []string{"message", "pmessage", "smessage"}

// subscribes reports whether a command, in upper case, gets confirmations.
func subscribes(name string) bool { return strings.HasSuffix(name, "SUBSCRIBE") }

// answers reports whether a node's message replies to the oldest pending command, and whether no further reply follows.
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

// answersQueued returns the queued commands that a node's reply answers besides its own. later: the reply is QUEUED,
// and does not answer its command either: the reply to EXEC does.
func (c *connection) answersQueued(x *exchange, v value) (queued []answer, later bool) {
	switch {
	case v.kind == '+' && v.text == "QUEUED":
		c.queued = append(c.queued, x)
		return nil, true
	case x.command.Name != "EXEC" && x.command.Name != "DISCARD":
		return nil, false
	}
	for i, x := range c.queued {
		reply := value{kind: '-', text: "the transaction was not carried out"}
		if v.kind == '*' && i < len(v.elements) {
			reply = v.elements[i]
		}
		queued = append(queued, answer{x, reply})
	}
	c.queued = nil
	return queued, false
}

// answer is a command and its reply.
type answer struct {
	*exchange
	value
}

// reply queues a message from the node.
func (f *flow) reply(m *message) {
	x := f.conn.answered(m.value)
	if x == nil {
		f.push(m) // unsolicited
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
