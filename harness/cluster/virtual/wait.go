package virtual

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// waiting is a connection's pending WAIT or WAITAOF. It is for the connection's offset, or its count of writes.
type waiting struct {
	count int              // required replicas
	timer *scheduler.Timer // answers at the timeout
	due   int64            // the time of that; 0: never

	// disks is set for WAITAOF: the replicas must have fsynced, and the node, too, if local is 1.
	disks bool
	local int
}

// getAck requests an acknowledgement from replicas at once.
const getAck = "GETACK"

// wait is WAIT: it answers when enough replicas have acknowledged this connection's writes, or at its timeout. It
// blocks the connection's next commands, but not those of other connections.
func (n *Node) wait(k *conn, args []string) (reply []byte) {
	if len(args) != 3 {
		return []byte("-ERR wrong number of arguments for 'wait' command\r\n")
	}
	count, err := strconv.Atoi(args[1])
	timeout, wrong := waitTimeout(args[2])
	switch {
	case n.rep.replica():
		return []byte("-ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a " +
			"replica is " +
			"configured to be writable (which is not the default) writes to replicas are just local and are not propagated.\r\n")
	case err != nil:
		return []byte(noInteger)
	case wrong != "":
		return []byte(wrong)
	}
	return n.block(k, &waiting{count: count}, timeout)
}

const waitAOF = "WAITAOF"

// waitForDisks is WAITAOF: it answers when this connection's writes are on enough replicas' disks, and on the node's
// own disk if required, or at its timeout. A replica reports its fsynced offset with each acknowledgement: at once on
// request, which may be before its fsync, and once a second.
func (n *Node) waitForDisks(k *conn, args []string) (reply []byte) {
	if len(args) != 4 {
		return []byte("-ERR wrong number of arguments for 'waitaof' command\r\n")
	}
	local, err := strconv.ParseInt(args[1], 10, 64)
	count, notCount := strconv.ParseInt(args[2], 10, 64)
	timeout, wrong := waitTimeout(args[3])
	switch {
	case err != nil:
		return []byte(noInteger)
	case local < 0 || local > 1:
		return []byte("-ERR value is out of range, value must between 0 and 1\r\n")
	case notCount != nil || count < 0:
		return []byte("-ERR value is out of range, must be positive\r\n")
	case wrong != "":
		return []byte(wrong)
	case n.rep.replica():
		return []byte("-ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are " +
			"just local " +
			"and are not propagated.\r\n")
	case local > 0 && !n.disk.appends():
		return []byte("-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n")
	}
	return n.block(k, &waiting{count: int(min(count, math.MaxInt32)), disks: true, local: int(local)}, timeout)
}

const noInteger = "-ERR value is not an integer or out of range\r\n"

// waitTimeout reads a timeout in milliseconds; wrong is the error reply to an invalid one.
func waitTimeout(word string) (timeout int64, wrong string) {
	timeout, err := strconv.ParseInt(word, 10, 64)
	switch {
	case err != nil:
		return 0, "-ERR timeout is not an integer or out of range\r\n"
	case timeout < 0:
		return 0, "-ERR timeout is negative\r\n"
	}
	return timeout, ""
}

// block makes a connection wait, unless its condition already holds.
func (n *Node) block(k *conn, w *waiting, timeout int64) (reply []byte) {
	k.waits = w
	if n.satisfies(k) {
		reply = n.waitReply(k)
		k.waits = nil
		return reply
	}
	w.timer = n.timer(n.whileRunning(func() { n.answerWait(k) }))
	if timeout > 0 {
		w.due = n.now() + timeout*int64(time.Millisecond)
		w.timer.Set(time.Duration(timeout) * time.Millisecond)
	}
	n.waiting = append(n.waiting, k)
	n.rep.feed(getAck)
	n.awaitFsync()
	return nil
}

// satisfies reports whether a waiting connection's condition holds.
func (n *Node) satisfies(k *conn) bool {
	return n.synced(k) >= k.waits.local && n.rep.countAcked(k) >= k.waits.count
}

// waitReply is the reply to WAIT or WAITAOF.
func (n *Node) waitReply(k *conn) []byte {
	if !k.waits.disks {
		return integer(n.rep.countAcked(k))
	}
	return fmt.Appendf(nil, "*2\r\n%s%s", integer(n.synced(k)), integer(n.rep.countAcked(k)))
}

// synced is 1 if the connection's writes are on the node's own disk.
func (n *Node) synced(k *conn) int {
	if n.disk.appends() && n.disk.synchronous >= k.wrote {
		return 1
	}
	return 0
}

// awaitFsync sets the timer for the next fsync, if a connection waits for it.
func (n *Node) awaitFsync() {
	if next := n.disk.untilTick(n.now()); next > 0 && slices.ContainsFunc(n.waiting, func(k *conn) bool {
		return k.waits.local > n.synced(k)
	}) {
		n.fsync.Set(next)
	}
}

// acknowledged answers the connections whose condition now holds. The caller holds the lock.
func (n *Node) acknowledged() {
	for _, k := range slices.Clone(n.waiting) {
		if n.satisfies(k) {
			n.answerWait(k)
		}
	}
	n.awaitFsync()
}

func (n *Node) answerWait(k *conn) {
	k.Write(n.waitReply(k))
	n.stopWaiting(k)
	n.scheduleExecutor()
}

func (n *Node) stopWaiting(k *conn) {
	if k.waits == nil {
		return
	}
	k.waits.timer.Stop()
	k.waits = nil
	n.waiting = slices.DeleteFunc(n.waiting, func(other *conn) bool { return other == k })
}

func integer(i int) []byte { return fmt.Appendf(nil, ":%d\r\n", i) }
