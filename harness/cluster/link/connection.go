package link

import (
	"net"
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
