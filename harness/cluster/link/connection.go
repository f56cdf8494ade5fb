package link

import (
	"io"
	"net"
	"sync"
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
	lanes          [2]*lane // of one in memory, else nil
	ends           int      // directions not over yet; the link's lock guards it

	mu           sync.Mutex
	awaiting     []*exchange // commands that the node has got and not answered
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
	c.flows = [2]*flow{newFlow(c, toNode), newFlow(c, toClient)}
	return c
}

// closeBoth closes both ends.
func (c *connection) closeBoth() {
	c.client.Close()
	c.server.Close()
}

// asked notes that a command was passed on to the node.
func (c *connection) asked(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting = append(c.awaiting, x)
	c.subscribed = c.subscribed || subscribes(x.command.Name)
}

// answered gives the command that a message from the node is the reply to: Redis answers the
// commands of one connection in order. It is nil if it answers none.
func (c *connection) answered(data []byte) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.awaiting) == 0 {
		return nil
	}
	x := c.awaiting[0]
	is, last := c.answers(data)
	if last {
		c.awaiting = rest(c.awaiting)
	}
	if !is || x.confirmed > 1 { // it was answered by the first
		return nil
	}
	return x
}

// rest is a queue without its first. One that is empty begins at its old place again, so
// that a queue that is seldom longer than one needs no new room for each.
func rest[T any](queue []T) []T {
	if len(queue) == 1 {
		clear(queue)
		return queue[:0]
	}
	return queue[1:]
}

// over notes that a side has closed its end. A node that does so before the client
// may be gone, and comes back without its scripts.
func (c *connection) over(direction int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if direction == toNode {
		c.clientClosed = true
	} else if !c.clientClosed {
		c.link.cfg.Scripts.forget(c.link.cfg.Node)
	}
}

// end is where a direction of a connection writes to. toxiproxy stops reading
// its toxics' output when a write fails, and leaves them blocked for ever; so a
// failed write is no error here: the bytes are lost, as on any broken
// connection, and the flow runs dry.
type end struct {
	net.Conn
	of   *connection
	flow *flow
}

// Write writes to whoever is there. Nobody may be: then the bytes are lost, and the other
// direction brings the end, behind what was sent before it.
func (e *end) Write(b []byte) (int, error) {
	e.flow.arrives(len(b))
	_, _ = e.Conn.Write(b)
	return len(b), nil
}

// ReadFrom is io.Copy with a small buffer.
func (e *end) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(writer{e}, r, make([]byte, copySize))
}

// writer is an io.Writer and nothing else, which io.CopyBuffer writes itself.
type writer struct{ io.Writer }

// Close ends a direction; it is called once. Over TCP the node is heard out whose client
// has gone: what it answers tells whether it did what it was asked, and the kernel of a
// client that was killed takes such an answer, too.
func (e *end) Close() error {
	node, halves := e.Conn.(interface{ CloseWrite() error })
	if halves && e.flow.direction == toNode {
		_ = node.CloseWrite()
		e.of.client.Close()
	} else {
		e.Conn.Close()
	}
	e.of.link.ended(e.of)
	return nil
}
