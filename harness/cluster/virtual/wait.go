package virtual

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// waiting is what a connection waits for that has said WAIT or WAITAOF.
type waiting struct {
	offset int64 // of what it has written, as replicas count it
	count  int   // of replicas that are to have it
	timer  *scheduler.Timer
	due    int64 // when it is told how many have it all the same; 0: never

	// disks is set for WAITAOF: they must have it on their disks; and so must the node, if local is 1.
	disks bool
	local int
	wrote int64 // what it has written, as the node's disk counts it
}

// getAck asks replicas for their word at once.
const getAck = "GETACK"

// wait is WAIT: it answers when so many replicas have acknowledged what this connection has
// written, or when its time is up. The connection's next commands wait with it; those of
// others do not.
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
	return n.block(k, &waiting{offset: k.offset, count: count}, timeout)
}

// waitAOF is the name of the command that waits for disks.
const waitAOF = "WAITAOF"

// waitForDisks is WAITAOF: it answers when what this connection has written is on the node's
// own disk, if that is asked for, and on those of so many replicas, or when its time is up.
// A replica tells what it has on its disk together with what it has: at once when it is asked,
// which may be too early, and once a second.
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
	return n.block(k, &waiting{offset: k.offset, count: int(min(count, math.MaxInt32)), disks: true, local: int(local),
		wrote: k.wrote}, timeout)
}

const noInteger = "-ERR value is not an integer or out of range\r\n"

// waitTimeout reads for how long a connection waits, in milliseconds; wrong is what it is
// answered if that is none.
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

// block lets a connection wait, unless it has already what it waits for.
func (n *Node) block(k *conn, w *waiting, timeout int64) (reply []byte) {
	if n.satisfies(w) {
		return n.waitReply(w)
	}
	w.timer = n.timer(func() { n.waitTimedOut(k) })
	k.waits = w
	if timeout > 0 {
		w.due = n.now() + timeout*int64(time.Millisecond)
		w.timer.Set(time.Duration(timeout) * time.Millisecond)
	}
	n.waiting = append(n.waiting, k)
	n.rep.feed(getAck)
	n.awaitFsync()
	return nil
}

// satisfies says whether a connection has what it waits for.
func (n *Node) satisfies(w *waiting) bool {
	return n.synced(w) >= w.local && n.rep.having(w) >= w.count
}

// waitReply is the answer to WAIT or WAITAOF.
func (n *Node) waitReply(w *waiting) []byte {
	if !w.disks {
		return integer(n.rep.having(w))
	}
	return fmt.Appendf(nil, "*2\r\n%s%s", integer(n.synced(w)), integer(n.rep.having(w)))
}

// synced is 1 if what a connection has written is on the node's own disk.
func (n *Node) synced(w *waiting) int {
	if n.disk.appends() && n.disk.synchronous >= w.wrote {
		return 1
	}
	return 0
}

// awaitFsync has the node look again after its next fsync, if a connection waits for that.
func (n *Node) awaitFsync() {
	if next := n.disk.untilTick(n.now()); next > 0 && slices.ContainsFunc(n.waiting, func(k *conn) bool {
		return k.waits.local > n.synced(k.waits)
	}) {
		n.fsync.Set(next)
	}
}

// waitTimedOut answers a WAIT whose time is up.
func (n *Node) waitTimedOut(k *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := k.waits; w != nil && n.conns[k] && !n.standsStill() && w.due > 0 && n.now() >= w.due {
		n.advance()
		n.answerWait(k)
	}
}

// acknowledged answers the WAITs that have what they wait for. The caller holds the lock.
func (n *Node) acknowledged() {
	for _, k := range slices.Clone(n.waiting) {
		if n.satisfies(k.waits) {
			n.answerWait(k)
		}
	}
	n.awaitFsync()
}

func (n *Node) answerWait(k *conn) {
	k.Write(n.waitReply(k.waits))
	n.stopWaiting(k)
	n.scheduleExecutor()
}

// stopWaiting forgets that a connection waits.
func (n *Node) stopWaiting(k *conn) {
	k.waits = nil
	n.waiting = slices.DeleteFunc(n.waiting, func(other *conn) bool { return other == k })
}

func integer(i int) []byte { return fmt.Appendf(nil, ":%d\r\n", i) }
