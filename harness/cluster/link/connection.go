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
	ends           int // directions not over yet; the link's lock guards it

	mu       sync.Mutex
	awaiting []exchange // commands that the node has got and not answered
}

// exchange is a command on its way to an answer, and what to do to the answer.
type exchange struct {
	command command
	serial  int64
	order   order
}

func newConnection(l *Link, number int, client, server net.Conn) *connection {
	c := &connection{link: l, number: number, client: client, server: server, ends: 2}
	c.flows = [2]*flow{newFlow(c, toNode), newFlow(c, toClient)}
	return c
}

// breakOff closes both ends.
func (c *connection) breakOff() {
	c.client.Close()
	c.server.Close()
}

// asked notes that a command was passed on to the node.
func (c *connection) asked(x exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting = append(c.awaiting, x)
}

// answered gives the command that the next reply belongs to: Redis answers the
// commands of one connection in order.
func (c *connection) answered() (exchange, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.awaiting) == 0 {
		return exchange{}, false
	}
	x := c.awaiting[0]
	c.awaiting = c.awaiting[1:]
	return x, true
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

func (e *end) Write(b []byte) (int, error) {
	e.flow.arrives(len(b))
	if _, err := e.Conn.Write(b); err != nil {
		e.of.breakOff()
	}
	return len(b), nil
}

// ReadFrom is io.Copy with a small buffer.
func (e *end) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(writer{e}, r, make([]byte, copySize))
}

// writer is an io.Writer and nothing else, which io.CopyBuffer writes itself.
type writer struct{ io.Writer }

// Close is called once by toxiproxy, when the direction is over.
func (e *end) Close() error {
	err := e.Conn.Close()
	e.of.link.ended(e.of)
	return err
}
