package virtual

import (
	"slices"
	"strconv"
	"time"
)

// connectedReplica is a replica that follows the node.
type connectedReplica struct {
	conn   *conn
	copied []byte // its copy, until that is sent
	online bool   // it has been sent that
	unsent []byte // what it is to be sent next
	acked  int64  // the offset up to which it has everything, by its own word
	kept   int64  // the offset up to which it has that on its disk, likewise; 0 if it does not say
	heard  int64  // when it gave that, in seconds of the node's clock
}

// send sends what has changed to the replicas that have their copy.
func (r *replication) send() {
	for _, a := range r.replicas {
		if a.online && len(a.unsent) > 0 {
			a.conn.Write(a.unsent) // a buffered pipe, whose other end may be gone
			a.unsent = nil
		}
	}
}

// receiveFromReplica takes what a replica says.
func (r *replication) receiveFromReplica(k *conn, args []string) {
	switch args[0] {
	case "PSYNC":
		r.attach(k, args[1], args[2])
	case "ACK":
		for _, a := range r.replicas {
			if offset, err := strconv.ParseInt(args[1], 10, 64); err == nil && a.conn == k {
				a.acked, a.heard = max(a.acked, offset), r.seconds()
				a.kept = max(a.kept, keptOf(args))
			}
		}
		r.node.acknowledged()
	}
}

// attach gives a replica what it lacks: the end of the sequence, if it has the rest of it,
// else a copy of everything.
func (r *replication) attach(k *conn, id, place string) {
	a := &connectedReplica{conn: k, heard: r.seconds()}
	r.feeds = true
	r.replicas = append(r.replicas, a)
	from, err := strconv.ParseInt(place, 10, 64)
	its := id == r.id || id == r.before.id && from <= r.before.offset
	if lacks := r.offset - from; err == nil && its && 0 <= lacks && lacks <= int64(len(r.backlog)) {
		a.online = true
		a.unsent = append(encode([]string{partSync, r.id}), r.backlog[int64(len(r.backlog))-lacks:]...)
		r.leave.Set(0)
		r.countGood()
		return
	}
	k.Write(encode([]string{fullResync, r.id, strconv.FormatInt(r.offset, 10)}))
	copied := []string{fullCopy}
	for _, key := range sortedKeys(r.node.disk.keys) {
		copied = append(append(copied, key), r.node.disk.keys[key].fields()...)
	}
	a.copied = encode(copied)
	r.node.disk.dumped(r.node.now())
	// The child's end is seen when the server looks for it next.
	n := r.node
	since := time.Duration(n.now()-n.disk.started) + time.Duration(mix(n.seed, n.name, "fork")%uint64(forkPeriod))
	r.fork.Set(forkPeriod - since%forkPeriod)
}

// sendCopies sends the copies that have been written.
func (r *replication) sendCopies() {
	for _, a := range r.replicas {
		if !a.online {
			a.conn.Write(a.copied)
			a.copied, a.online, a.heard = nil, true, r.seconds()
			r.leave.Set(0)
		}
	}
	r.countGood()
}

// leavesBehind says whether the node, which is to shut down, has replicas that have not
// everything. It asks them, first, and answers nobody else from then on.
func (n *Node) leavesBehind(first bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.rep
	if n.server == nil || r == nil || r.isReplica ||
		!slices.ContainsFunc(r.replicas, func(a *connectedReplica) bool { return a.acked != r.offset }) {
		return false
	}
	if n.closing = true; first {
		r.feed(getAck)
	}
	return true
}

// countGood counts the replicas that min-replicas-to-write asks for.
func (r *replication) countGood() {
	r.good = 0
	for _, a := range r.replicas {
		if a.online && r.seconds()-a.heard <= r.mostLag {
			r.good++
		}
	}
}

// having counts the replicas that have all that a connection waits for, by their word.
func (r *replication) having(w *waiting) (count int) {
	if r == nil {
		return 0
	}
	for _, a := range r.replicas {
		if a.online && (!w.disks && a.acked >= w.offset || w.disks && a.kept >= w.offset) {
			count++
		}
	}
	return count
}

// keptOf is what a replica says that it has on its disk: ACK offset FACK offset.
func keptOf(ack []string) int64 {
	if len(ack) < 4 || ack[2] != "FACK" {
		return 0
	}
	kept, err := strconv.ParseInt(ack[3], 10, 64)
	if err != nil {
		return 0
	}
	return kept
}

// runCron is replicationCron.
func (r *replication) runCron() {
	r.cron.Set(time.Second)
	if r.isReplica {
		r.runReplicaCron()
		return
	}
	if r.loops%pingPeriod == 0 && len(r.replicas) > 0 {
		r.feed("PING")
	}
	r.loops++
	for _, a := range slices.Clone(r.replicas) {
		if a.online && r.seconds()-a.heard > replTimeout {
			r.node.drop(a.conn)
			r.lost(a.conn)
		}
	}
	r.countGood()
}
