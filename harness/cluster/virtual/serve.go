package virtual

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/cluster/link"
)

// conn is one connection to a node. What comes in over it is cut into commands, which
// queue up; the node's executor answers them.
type conn struct {
	net.Conn
	node      *Node
	peer      *server.Peer
	reply     bytes.Buffer
	transacts bool // it has said MULTI, and neither EXEC nor DISCARD since
	// queuesWrites: writes have been queued in that transaction.
	queuesWrites bool
	waits        *waiting // nil: it has not said WAIT or WAITAOF, or been answered
	offset       int64    // in what the node's replicas are sent, after the last command
	wrote        int64    // of what the node's disk has been given, after the last command
	replica      bool     // a replica's, that follows the node
	channels     []string // that it has subscribed to
	partial      []byte   // the beginning of a command whose rest is still to come
	broken       bool     // what came in is no RESP: nothing that comes after it is read
}

var _ link.Sink = (*conn)(nil)

// newConn makes a connection to a node, of a client's or without one (nil). miniredis
// writes to its reply.
func (n *Node) newConn(c net.Conn) *conn {
	k := &conn{Conn: c, node: n}
	k.peer = server.NewPeer(bufio.NewWriterSize(&k.reply, bufferSize))
	return k
}

// bufferSize is the size in bytes of the buffer of a connection, which has little to say.
const bufferSize = 512

// request is a command that has arrived.
type request struct {
	from *conn
	args []string
}

// serve answers commands on a connection that has come over a link, until
// either side closes it. It returns false if the node is down.
func (n *Node) serve(c net.Conn) bool {
	k := n.newConn(c)
	if !n.accept(k) {
		return false
	}
	link.Drain(c, k)
	return true
}

// accept adds a connection, unless the node is down, or is asked for a copy by a replica and is one itself.
func (n *Node) accept(k *conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || k.replica && n.rep.replica() {
		return false
	}
	n.conns[k] = true
	return true
}

// Feed takes what has come in.
func (k *conn) Feed(data []byte) {
	if k.broken {
		return
	}
	if len(k.partial) > 0 {
		k.partial = append(k.partial, data...)
		data = k.partial
	}
	for len(data) > 0 {
		args, size, err := link.ReadCommand(data)
		if err != nil {
			k.broken = true
			k.node.hangUp(k, err)
			return
		}
		if size == 0 {
			break
		}
		k.node.enqueue(request{k, args})
		data = data[size:]
	}
	k.partial = append(k.partial[:0], data...)
}

// Close hears that no more comes in. Commands that have come before it are executed all
// the same, as Redis does.
func (k *conn) Close() { k.node.hangUp(k, nil) }

// hangUp closes a connection: its other side has closed it, or does not speak RESP.
func (n *Node) hangUp(k *conn, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		fmt.Fprintf(k, "-ERR Protocol error: %s\r\n", err)
	}
	current := n.conns[k]
	n.drop(k)
	n.stopWaiting(k)
	if current {
		n.rep.lost(k)
	}
}

func (n *Node) enqueue(r request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil && n.conns[r.from] {
		n.queue = append(n.queue, r)
		n.scheduleExecutor()
	}
}

// scheduleExecutor sees to it that the executor goes on, if there is something to do. The caller
// holds the lock.
func (n *Node) scheduleExecutor() {
	if !n.executorScheduled && n.busy() {
		n.executorScheduled = true
		n.execution.Set(0)
	}
}

// busy says whether there is something to execute. The caller holds the lock.
func (n *Node) busy() bool { return n.next() >= 0 && !n.paused && n.script != silent }

// next is which of the queued commands is executed next, -1 for none: those of a
// connection that waits have to wait, those of a master until no script is running, and
// those of clients where the server is shutting down.
func (n *Node) next() int {
	return slices.IndexFunc(n.queue, func(r request) bool {
		return r.from.waits == nil && (n.script == unoccupied || !n.rep.reads(r.from)) && (!n.closing || r.from.replica)
	})
}

// executeNext takes the command that has waited longest.
func (n *Node) executeNext() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.executorScheduled = false
	if !n.busy() {
		return
	}
	defer n.scheduleExecutor()
	i := n.next()
	r := n.queue[i]
	n.queue = slices.Delete(n.queue, i, i+1)
	if r.from.replica || n.rep.reads(r.from) {
		n.replicated(r)
		return
	}
	if reply := n.execute(r.from, r.args); len(reply) > 0 {
		r.from.Write(reply) // a buffered pipe: it does not wait, and the client may be gone
	}
	if r.from.peer.Closed() || !n.conns[r.from] { // after QUIT, or replaced
		r.from.Conn.Close()
	}
}

// execute carries out one command and gives the reply in RESP. The caller
// holds the lock, and the node is up.
func (n *Node) execute(k *conn, args []string) []byte {
	defer k.reply.Reset()
	name := strings.ToUpper(args[0])
	if n.script == answering && !allowedWhileBusy[name] {
		return []byte(busyReply)
	}
	n.advance()
	if name == "WAIT" && !k.transacts {
		return n.wait(k, args)
	}
	if name == waitAOF && !k.transacts && !n.release.lacks(name) {
		return n.waitForDisks(k, args)
	}
	if reply := n.abort(k, name); reply != nil {
		return reply
	}
	if n.pubSub(k, name, args) {
		k.peer.Flush()
		return bytes.Clone(k.reply.Bytes())
	}
	offset, written := n.rep.written(), n.disk.written
	if what := n.dispatch(k, name, args); what != nil {
		n.replace(k)
		return fmt.Appendf(nil, "-ERR miniredis gave up on %s: %v\r\n", args[0], what)
	}
	k.peer.Flush()
	if k.transacts && queues(name) && bytes.HasPrefix(k.reply.Bytes(), []byte("-")) {
		n.aside(k.peer, "GET") // with too few arguments: miniredis aborts for its own errors alone
	}
	if !n.rep.replica() {
		n.journal()
		if n.disk.written == written && overwrites(name, k.reply.String()) {
			if !n.release.lacks(waitAOF) { // which waits for it
				n.disk.rewritten(n.now())
			}
			n.rep.feed("PING")
		}
	}
	if name == "FLUSHALL" && k.reply.String() == "+OK\r\n" { // not QUEUED
		n.disk.flushed(n.now())
	}
	k.transacts = name == "MULTI" || k.transacts && !endsTransaction(args)
	k.queuesWrites = k.transacts && (k.queuesWrites || writes(name) && k.reply.String() == "+QUEUED\r\n")
	n.noteWritten(k, offset, written)
	return n.refusedScript(args, bytes.Clone(k.reply.Bytes()))
}

// noteWritten notes what a connection that has given a command waits for with WAIT or
// WAITAOF, by where the node was before that: to Redis 7.0 all that has been written until
// then, by whomever; to later ones all until its own last write.
func (n *Node) noteWritten(k *conn, offset, written int64) {
	all := n.release.lacks(waitAOF)
	if now := n.rep.written(); all || now != offset {
		k.offset = now
	}
	if now := n.disk.written; all || now != written {
		k.wrote = now
	}
}

// replace gives the node a new miniredis with the same keys. The old one died
// in a command, with its lock held and what each connection has under way tied
// to it; so no connection outlives it, but the one that gave the command gets
// its answer first.
func (n *Node) replace(last *conn) {
	n.boot()
	n.queue = nil
	for k := range n.conns {
		delete(n.conns, k)
		n.stopWaiting(k)
		if k != last {
			k.Conn.Close()
		}
		n.rep.lost(k)
	}
}

// dispatch hands a command to miniredis, which panics on some scripts.
func (n *Node) dispatch(k *conn, name string, args []string) (panicked any) {
	defer func() { panicked = recover() }()
	own := name == "PUBLISH" || n.compares(name, args[1:]) || rounds(name, args[1:])
	if k.transacts && own { // miniredis would carry out its parts later
		k.peer.WriteError(fmt.Sprintf("ERR %s is not modelled so by the virtual cluster within MULTI: use the local or "+
			"docker cluster", name))
	} else if !n.runGoScript(k, args) {
		n.server.Server().Dispatch(k.peer, args)
	}
	return nil
}

// queues says whether a transaction queues a command, and so is aborted by its error.
func queues(name string) bool {
	return !slices.Contains([]string{"MULTI", "EXEC", "DISCARD", "WATCH"}, name)
}

// endsTransaction says whether a command ends the transaction that it is given in.
func endsTransaction(args []string) bool {
	return len(args) == 1 && (strings.EqualFold(args[0], "EXEC") || strings.EqualFold(args[0], "DISCARD"))
}
