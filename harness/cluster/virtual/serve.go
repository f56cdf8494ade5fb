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
	"example.org/lockproof/harness/history"
)

// conn is one connection to a node. It splits its input into commands and queues them for the node's executor.
type conn struct {
	net.Conn
	node         *Node
	peer         *server.Peer
	reply        bytes.Buffer
	transacts    bool     // between MULTI and EXEC or DISCARD
	queuesWrites bool     // that transaction has writes
	waits        *waiting // nil: no WAIT or WAITAOF is pending
	offset       int64    // the replication offset that its WAIT needs
	wrote        int64    // the disk's count of writes that its WAITAOF needs
	replica      bool     // of a replica of the node
	channels     []string // subscriptions
	partial      []byte   // an incomplete command
	broken       bool     // the input was not RESP; no more is read
}

var _ link.Sink = (*conn)(nil)

// newConn makes a connection to a node, of a client or internal (nil). miniredis writes to its reply.
func (n *Node) newConn(c net.Conn) *conn {
	k := &conn{Conn: c, node: n}
	k.peer = server.NewPeer(bufio.NewWriterSize(&k.reply, bufferSize))
	return k
}

// bufferSize is small, as replies are short.
const bufferSize = 512

// request is a queued command.
type request struct {
	from *conn
	args []string
}

// serve answers commands on a connection of a client or a replica until either side closes it. It returns nil if the
// node is down, or if both sides are replicas.
func (n *Node) serve(c net.Conn, replica bool) *conn {
	k := n.newConn(c)
	k.replica = replica
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || replica && n.rep.replica() {
		return nil
	}
	n.conns[k] = true
	link.Drain(c, k) // a new connection has no data yet, so nothing calls back
	return k
}

// Feed receives data.
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

// Close handles the end of the input.
func (k *conn) Close() { k.node.hangUp(k, nil) }

// hangUp closes a connection after the other side has closed it or sent invalid RESP. Queued commands still run, as in
// Redis.
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
		n.rep.disconnected(k)
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

// scheduleExecutor schedules the next execution at this instant, if a command can run. The caller holds the lock.
func (n *Node) scheduleExecutor() {
	if n.next() >= 0 {
		n.execution.Set(0)
	}
}

// next is the index of the next command to execute, -1 for none. It skips connections in WAIT, the master's stream
// while a script runs, and clients while the server shuts down. The caller holds the lock.
func (n *Node) next() int {
	if n.paused || n.script == silent {
		return -1
	}
	return slices.IndexFunc(n.queue, func(r request) bool {
		return r.from.waits == nil && (n.script == unoccupied || !n.rep.reads(r.from)) && (!n.closing || r.from.replica)
	})
}

// executeNext executes the next queued command.
func (n *Node) executeNext() {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.next()
	if i < 0 {
		return
	}
	defer n.scheduleExecutor()
	r := n.queue[i]
	n.queue = slices.Delete(n.queue, i, i+1)
	if r.from.replica || n.rep.reads(r.from) {
		n.replicated(r)
		return
	}
	if reply := n.execute(r.from, r.args); len(reply) > 0 {
		r.from.Write(reply) // a buffered pipe: it does not block; the client may have closed
	}
	if r.from.peer.Closed() || !n.conns[r.from] { // after QUIT, or replaced
		r.from.Conn.Close()
	}
}

// execute executes one command and returns the reply in RESP. The caller holds the lock, and the node is up.
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
		n.runInternally(k.peer, "GET") // an error of miniredis's own, as only those abort its transactions
	}
	if !n.rep.replica() {
		n.journal()
		if n.disk.written == written && overwrites(name, k.reply.String()) {
			if n.release.later { // WAITAOF waits for this write
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
	n.updateOffsets(k, offset, written)
	return n.refusedScript(args, bytes.Clone(k.reply.Bytes()))
}

// updateOffsets sets what a later WAIT or WAITAOF of the connection needs; offset and written are from before its
// command. Redis 7.0 waits for all writes of any client so far, later releases up to the connection's last write.
func (n *Node) updateOffsets(k *conn, offset, written int64) {
	all := !n.release.later
	if now := n.rep.written(); all || now != offset {
		k.offset = now
	}
	if now := n.disk.written; all || now != written {
		k.wrote = now
	}
}

// replace starts a new miniredis with the same keys. The old one panicked in a command with its lock held, and every
// connection's state belongs to it. So all connections end; the one with the failed command gets its reply first.
func (n *Node) replace(last *conn) {
	n.boot()
	n.queue = nil
	for k := range n.conns {
		delete(n.conns, k)
		n.stopWaiting(k)
		if k != last {
			k.Conn.Close()
		}
		n.rep.disconnected(k)
	}
}

// dispatch executes a command in miniredis, which panics on some scripts.
func (n *Node) dispatch(k *conn, name string, args []string) (panicked any) {
	defer func() { panicked = recover() }()
	own := name == "PUBLISH" || n.compares(name, args[1:]) || rounds(name, args[1:])
	if k.transacts && own { // miniredis would queue its parts
		k.peer.WriteError(fmt.Sprintf("ERR %s within MULTI %s: use the local cluster", name, history.Unmodelled))
	} else if !n.runGoScript(k, args) {
		n.server.Server().Dispatch(k.peer, args)
	}
	return nil
}

// queues reports whether a transaction queues a command, so that its error aborts the transaction.
func queues(name string) bool {
	return !slices.Contains([]string{"MULTI", "EXEC", "DISCARD", "WATCH"}, name)
}

// endsTransaction reports whether a command ends its transaction.
func endsTransaction(args []string) bool {
	return len(args) == 1 && (strings.EqualFold(args[0], "EXEC") || strings.EqualFold(args[0], "DISCARD"))
}
