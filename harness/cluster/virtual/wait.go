package virtual

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockproof/harness/cluster/link"
)

// waiting is what a connection waits for that has said WAIT.
type waiting struct {
	offset int64 // of what it has written
	count  int   // of replicas that are to have it
	plan   *link.Plan
	due    int64 // when it is told how many have it all the same; 0: never
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
	timeout, wrong := strconv.ParseInt(args[2], 10, 64)
	switch {
	case n.rep.replica():
		return []byte("-ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is " +
			"configured to be writable (which is not the default) writes to replicas are just local and are not propagated.\r\n")
	case err != nil:
		return []byte("-ERR value is not an integer or out of range\r\n")
	case wrong != nil:
		return []byte("-ERR timeout is not an integer or out of range\r\n")
	case timeout < 0:
		return []byte("-ERR timeout is negative\r\n")
	}
	if have := n.rep.acknowledgedBy(k.offset); have >= count {
		return integer(have)
	}
	k.waits = &waiting{offset: k.offset, count: count, plan: n.agenda.New(func() { n.waited(k) })}
	if timeout > 0 {
		k.waits.due = n.now() + timeout*int64(time.Millisecond)
		k.waits.plan.Set(time.Duration(timeout) * time.Millisecond)
	}
	n.waiting = append(n.waiting, k)
	n.rep.feed(getAck)
	return nil
}

// waited answers a WAIT whose time is up.
func (n *Node) waited(k *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := k.waits; w != nil && n.conns[k] && !n.standsStill() && w.due > 0 && n.now() >= w.due {
		n.answerWait(k)
	}
}

// acknowledged answers the WAITs that have what they wait for. The caller holds the lock.
func (n *Node) acknowledged() {
	for _, k := range slices.Clone(n.waiting) {
		if n.rep.acknowledgedBy(k.waits.offset) >= k.waits.count {
			n.answerWait(k)
		}
	}
}

func (n *Node) answerWait(k *conn) {
	k.Write(integer(n.rep.acknowledgedBy(k.waits.offset)))
	n.stopWaiting(k)
	n.rouse()
}

// stopWaiting forgets that a connection waits.
func (n *Node) stopWaiting(k *conn) {
	k.waits = nil
	n.waiting = slices.DeleteFunc(n.waiting, func(other *conn) bool { return other == k })
}

func integer(i int) []byte { return fmt.Appendf(nil, ":%d\r\n", i) }
