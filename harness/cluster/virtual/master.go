package virtual

import (
	"slices"
	"strconv"
	"time"
)

// connectedReplica is a replica that follows the node.
type connectedReplica struct {
	conn        *conn
	copied      []byte // its full copy, until that is sent; nil: the replica is online
	unsent      []byte // changes to send next
	acked       int64  // acknowledged offset
	fsynced     int64  // acknowledged offset on its disk; 0 if it reports none
	lastContact int64  // time of the last acknowledgement, in seconds of the node's clock
}

// online reports whether the replica gets changes: it has its full copy, or needed none.
func (a *connectedReplica) online() bool { return a.copied == nil }

// send sends pending changes to the online replicas.
func (r *replication) send() {
	for _, a := range r.replicas {
		if a.online() && len(a.unsent) > 0 {
			a.conn.Write(a.unsent) // a buffered pipe; the replica may have closed
			a.unsent = nil
		}
	}
}

// receiveFromReplica handles a replica's message.
func (r *replication) receiveFromReplica(k *conn, args []string) {
	switch args[0] {
	case "PSYNC":
		r.attach(k, args[1], args[2])
	case "ACK":
		for _, a := range r.replicas {
			if offset, err := strconv.ParseInt(args[1], 10, 64); err == nil && a.conn == k {
				a.acked, a.lastContact = max(a.acked, offset), r.seconds()
				a.fsynced = max(a.fsynced, fsyncedOffset(args))
			}
		}
		r.node.acknowledged()
	}
}

// attach sends a replica its missing writes if the backlog has them, else a full copy.
func (r *replication) attach(k *conn, id, offset string) {
	a := &connectedReplica{conn: k, lastContact: r.seconds()}
	r.feeds = true
	r.replicas = append(r.replicas, a)
	from, err := strconv.ParseInt(offset, 10, 64)
	sameSequence := id == r.id || id == r.before.id && from <= r.before.offset
	if lacks := r.offset - from; err == nil && sameSequence && 0 <= lacks && lacks <= int64(len(r.backlog)) {
		a.unsent = append(encode([]string{partSync, r.id}), r.backlog[int64(len(r.backlog))-lacks:]...)
		r.sending.Set(0)
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
	// The server notices the child's end at its next check.
	n := r.node
	since := time.Duration(n.now()-n.disk.started) + time.Duration(mix(n.seed, n.name, "fork")%uint64(forkPeriod))
	r.fork.Set(forkPeriod - since%forkPeriod)
}

// sendCopies sends the finished copies.
func (r *replication) sendCopies() {
	for _, a := range r.replicas {
		if !a.online() {
			a.conn.Write(a.copied)
			a.copied, a.lastContact = nil, r.seconds()
			r.sending.Set(0)
		}
	}
	r.countGood()
}

// replicasLag reports whether a node that shuts down has replicas without its last writes. The first call requests
// acknowledgements; from then on the node serves only replicas.
func (n *Node) replicasLag(first bool) bool {
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

// countGood counts the replicas for min-replicas-to-write.
func (r *replication) countGood() {
	r.good = 0
	for _, a := range r.replicas {
		if a.online() && r.seconds()-a.lastContact <= r.maxLag {
			r.good++
		}
	}
}

// countAcked counts the replicas that have acknowledged the writes that a connection waits for.
func (r *replication) countAcked(k *conn) (count int) {
	if r == nil {
		return 0
	}
	for _, a := range r.replicas {
		if a.online() && (!k.waits.disks && a.acked >= k.offset || k.waits.disks && a.fsynced >= k.offset) {
			count++
		}
	}
	return count
}

// fsyncedOffset reads the fsynced offset in ACK offset FACK offset.
func fsyncedOffset(ack []string) int64 {
	if len(ack) < 4 || ack[2] != "FACK" {
		return 0
	}
	offset, err := strconv.ParseInt(ack[3], 10, 64)
	if err != nil {
		return 0
	}
	return offset
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
		if a.online() && r.seconds()-a.lastContact > replTimeout {
			r.node.drop(a.conn)
			r.disconnected(a.conn)
		}
	}
	r.countGood()
}
