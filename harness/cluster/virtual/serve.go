package virtual

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// conn is one connection to a node. Its reader queues commands; the node's
// executor answers them.
type conn struct {
	net.Conn
	order     int // of all connections to the node: which goes first at one instant
	peer      *server.Peer
	reply     bytes.Buffer
	transacts bool // it has said MULTI, once
}

// newConn makes a connection to a node, of a client's or without one (nil). miniredis
// writes to its reply.
func newConn(c net.Conn, order int) *conn {
	k := &conn{Conn: c, order: order}
	k.peer = server.NewPeer(bufio.NewWriterSize(&k.reply, bufferSize))
	return k
}

// bufferSize is the size in bytes of the buffers of a connection, which has little to say.
const bufferSize = 512

// request is a command that has arrived.
type request struct {
	from *conn
	at   int64
	args []string
}

// serve answers commands on a connection that has come over a link, until
// either side closes it. order must be the same in every run. It returns false
// if the node is down.
func (n *Node) serve(c net.Conn, order int) bool {
	k := newConn(c, order)
	if !n.accept(k) {
		return false
	}
	go func() {
		r := bufio.NewReaderSize(c, bufferSize)
		for {
			args, err := readCommand(r)
			if err != nil {
				n.hangUp(k, err)
				return
			}
			n.enqueue(request{k, n.now(), args})
		}
	}()
	return true
}

// accept adds a connection, unless the node is down.
func (n *Node) accept(k *conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return false
	}
	n.conns[k] = true
	return true
}

// hangUp closes a connection after its reader has ended. Commands that it has
// read before are executed all the same, as Redis does.
func (n *Node) hangUp(k *conn, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var bad *protocolError
	if errors.As(err, &bad) {
		fmt.Fprintf(k, "-ERR Protocol error: %s\r\n", bad.what)
	}
	delete(n.conns, k)
	k.Close()
}

func (n *Node) enqueue(r request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil && n.conns[r.from] {
		n.queue = append(n.queue, r)
		n.rouse()
	}
}

// rouse tells the executor that there may be something to do. The caller holds
// the lock.
func (n *Node) rouse() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// run executes what arrives, one command in a nanosecond. It waits a
// nanosecond before each: by then everything that arrives at one instant has
// arrived, and is put in an order that does not depend on how goroutines are
// scheduled.
func (n *Node) run() {
	for range n.news {
		for n.busy() {
			time.Sleep(time.Nanosecond)
			n.executeNext()
		}
	}
}

func (n *Node) busy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queue) > 0 && !n.paused && n.script != silent
}

// executeNext takes the command that has waited longest.
func (n *Node) executeNext() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 || n.paused || n.script == silent {
		return
	}
	slices.SortStableFunc(n.queue, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.from.order, b.from.order))
	})
	r := n.queue[0]
	n.queue = n.queue[1:]
	reply := n.execute(r.from, r.args)
	r.from.Write(reply)                           // a buffered pipe: it does not wait, and the client may be gone
	if r.from.peer.Closed() || !n.conns[r.from] { // after QUIT, or replaced
		r.from.Close()
	}
}

// execute carries out one command and gives the reply in RESP. The caller
// holds the lock, and the node is up.
func (n *Node) execute(k *conn, args []string) []byte {
	defer k.reply.Reset()
	if n.script == answering && !amidScripts[strings.ToUpper(args[0])] {
		return []byte(busyReply)
	}
	n.advance()
	if what := n.dispatch(k, args); what != nil {
		n.replace(k)
		return fmt.Appendf(nil, "-ERR miniredis gave up on %s: %v\r\n", args[0], what)
	}
	k.peer.Flush()
	name := strings.ToUpper(args[0])
	if modelled[name] == writes {
		n.journal()
	}
	if name == "FLUSHALL" && k.reply.String() == "+OK\r\n" { // not QUEUED
		n.disk.flushed(n.now())
	}
	k.transacts = k.transacts || name == "MULTI"
	return bytes.Clone(k.reply.Bytes())
}

// replace gives the node a new miniredis with the same keys. The old one died
// in a command, with its lock held and what each connection has under way tied
// to it; so no connection outlives it, but the one that gave the command gets
// its answer first.
func (n *Node) replace(last *conn) {
	n.boot(n.keys)
	n.queue = nil
	for k := range n.conns {
		delete(n.conns, k)
		if k != last {
			k.Close()
		}
	}
}

// dispatch hands a command to miniredis, which panics on some scripts.
func (n *Node) dispatch(k *conn, args []string) (panicked any) {
	defer func() { panicked = recover() }()
	if !n.native(k, args) {
		n.loadNatives(args[0])
		n.server.Server().Dispatch(k.peer, args)
	}
	return nil
}

// protocolError is what a client gets told that does not speak RESP.
type protocolError struct{ what string }

func (e *protocolError) Error() string { return e.what }

// The limits that Redis sets on a request.
const (
	maxArguments = 1 << 20
	maxBulk      = 512 << 20
)

// readCommand reads an array of bulk strings, the form in which client
// libraries send commands.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*', maxArguments)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &protocolError{"an empty command"}
	}
	var args []string
	for range n {
		size, err := readLength(r, '$', maxBulk)
		if err != nil {
			return nil, err
		}
		var word strings.Builder
		if _, err := io.CopyN(&word, r, int64(size)); err != nil {
			return nil, err
		}
		if _, err := r.Discard(len("\r\n")); err != nil {
			return nil, err
		}
		args = append(args, word.String())
	}
	return args, nil
}

// readLength reads a line such as *3 or $12.
func readLength(r *bufio.Reader, kind byte, limit int) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	digits := strings.TrimRight(line, "\r\n")
	if digits == "" || digits[0] != kind {
		return 0, &protocolError{fmt.Sprintf("expected '%c', got %.20q", kind, digits)}
	}
	n, err := strconv.Atoi(digits[1:])
	if err != nil || n < 0 || n > limit {
		return 0, &protocolError{fmt.Sprintf("invalid length %.20q", digits)}
	}
	return n, nil
}
