package virtual

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// replication is a node's part in replication, as redis-server 7.0 plays it with
// repl-diskless-sync no, the setting of the other clusters' servers. A master answers
// its clients first; what has changed goes to its replicas afterwards, over links that
// can be cut and delayed like any other. A replica that comes back asks for what it
// lacks, and is given that or a copy of everything. replication_test.go holds the
// model against redis-server.
//
// A change is sent as what it leaves of a key, where Redis sends the command, so that
// offsets count other bytes than Redis's, and the handshake is one message each way. The
// node's lock guards everything.
type replication struct {
	node    *Node
	follows *path // to the master that its settings name; nil: none
	// leastReplicas and mostLag are min-replicas-to-write and min-replicas-max-lag.
	leastReplicas int
	mostLag       int64 // in seconds

	cron  *scheduler.Timer // what the server does once a second
	leave *scheduler.Timer // sends what has changed
	fork  *scheduler.Timer // sees that a copy has been written
	dial  *scheduler.Timer // reaches for the master

	isReplica bool
	place           // in the sequence of writes, in bytes
	before    place // how far the sequence before it was this one's
	ids       int   // how many it has had
	loops     int   // of cron since the start

	// Of a master.
	feeds    bool                // it has had a replica: what it writes is counted and kept
	backlog  []byte              // the end of what it has written
	replicas []*connectedReplica // in the order in which they came
	good     int                 // how many of them count for min-replicas-to-write

	// Of a replica.
	state  progress
	stream *conn // to the master
	heard  int64 // when that was last heard of, in seconds of the node's clock
	kept   int64 // the offset up to which everything is on its disk
	whole  bool  // it has begun to take a copy, and no place in a sequence is its own
}

// progress is how far a replica has come with its master.
type progress int

const (
	apart    progress = iota // no connection
	dialling                 // one is being made
	asking                   // for what it lacks
	copying                  // a copy is to come
	joined                   // it has that, and gets what changes
)

// Redis's defaults.
const (
	replTimeout    = 60                     // repl-timeout, in seconds
	pingPeriod     = 10                     // repl-ping-replica-period, in seconds
	backlogSize    = 1 << 20                // repl-backlog-size, in bytes
	defaultMostLag = "10"                   // min-replicas-max-lag, in seconds
	forkPeriod     = 100 * time.Millisecond // how often a server looks for children that have ended (hz 10)
)

// The messages of a replication stream beside SET, DEL and PING.
const (
	fullResync = "FULLRESYNC" // the sequence and the place in it that a copy is of
	fullCopy   = "COPY"       // keys, values and times of expiry
	partSync   = "CONTINUE"   // the sequence, whose rest follows from where the replica left off
)

// replicaLimits reads min-replicas-to-write and min-replicas-max-lag, the latter in seconds. If one is 0, both are off
// (Redis, checkGoodReplicasStatus).
func replicaLimits(cfg cluster.Config) (replicas, lag int, err error) {
	replicas, err = count(cluster.MinReplicas, cmp.Or(cfg.Settings[cluster.MinReplicas], "0"))
	lag, wrong := count(cluster.MinLag, cmp.Or(cfg.Settings[cluster.MinLag], defaultMostLag))
	if lag == 0 {
		replicas = 0
	}
	return replicas, lag, errors.Join(err, wrong)
}

func count(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("virtual cluster: %s is to be %q, which is no count", name, value)
	}
	return n, nil
}

// replicate gives the replicas and their masters their parts, and every node one that is
// not to write without replicas.
func (c *Cluster) replicate(replicas []string) {
	least, lag, _ := replicaLimits(c.cfg) // check has read them
	for _, name := range c.cfg.Servers() {
		master := c.cfg.Replicas[name]
		switch {
		case master != "": // once it is promoted it has no replicas
			c.nodes[name].replicate(c.paths[pathName{name, master}], 0, lag)
		case c.cfg.Replicates(name) || least > 0 && name != history.StoreName:
			c.nodes[name].replicate(nil, least, lag)
		}
	}
	for _, name := range replicas {
		c.nodes[name].rep.startJoined()
	}
}

// replicate gives the node a part in replication. It has been started.
func (n *Node) replicate(follows *path, leastReplicas, mostLag int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &replication{node: n, follows: follows, leastReplicas: leastReplicas, mostLag: int64(mostLag)}
	r.cron, r.leave = n.timer(n.whileRunning(r.runCron)), n.timer(n.whileRunning(r.send))
	r.fork, r.dial = n.timer(n.whileRunning(r.sendCopies)), n.timer(r.dialMaster)
	n.rep, n.disk.where = r, r.saved
	r.begin()
}

// whileRunning makes what a timer does from what the node does: nothing while it is down or
// stands still, after which resumeTimers sets its timers again.
func (n *Node) whileRunning(do func()) func() {
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.server != nil && !n.standsStill() {
			n.advance()
			do()
		}
	}
}

// standsStill says whether the server's process does nothing but what it is at.
func (n *Node) standsStill() bool { return n.paused || n.script != unoccupied }

// resumeTimers goes on with what the server does by itself.
func (n *Node) resumeTimers() {
	if r := n.rep; r != nil {
		for _, t := range []*scheduler.Timer{r.cron, r.leave, r.fork} {
			t.Set(0)
		}
		if r.state == dialling {
			r.dial.Set(0)
		}
	}
	n.fsync.Set(0)
	for _, k := range n.waiting {
		if due := k.waits.due; due > 0 {
			k.waits.timer.Set(time.Duration(due - n.now()))
		}
	}
}

// begin takes up the part that the settings give, as a server does that starts.
func (r *replication) begin() {
	r.isReplica, r.offset, r.before, r.loops = r.follows != nil, 0, place{}, 0
	r.rename()
	r.feeds, r.backlog, r.replicas, r.good = false, nil, nil, 0
	r.state, r.stream, r.whole, r.heard, r.kept = apart, nil, true, r.seconds(), 0
	if found := r.node.disk.place; found.id != "" && r.node.disk.loadsSnapshot() {
		// A replica goes on from there, and a master lets its replicas do so.
		r.feeds, r.offset = true, found.offset
		if r.whole = !r.isReplica; r.isReplica {
			r.id = found.id
		} else {
			r.before = found
		}
	}
	// The first cron comes with the first turn of the event loop.
	r.cron.Set(time.Millisecond)
}

// rename begins a sequence of writes.
func (r *replication) rename() {
	r.ids++
	sum := sha1.Sum(fmt.Appendf(nil, "%d %s %d sequence", r.node.seed, r.node.name, r.ids))
	r.id = hex.EncodeToString(sum[:])
}

// seconds is the node's wall clock as replication counts it.
func (r *replication) seconds() int64 { return r.node.clock.at(r.node.now()) / int64(time.Second) }

// status is what INFO replication says; nil if the node has no part in it.
func (r *replication) status() *history.Replication {
	if r == nil {
		return nil
	}
	s := &history.Replication{Role: history.RoleMaster, History: r.id, Offset: r.offset}
	if r.isReplica {
		s.Role, s.Linked = history.RoleReplica, r.state == joined
	}
	return s
}

// written is where the node is in its sequence of writes.
func (r *replication) written() int64 {
	if r == nil {
		return 0
	}
	return r.offset
}

// reads says whether a connection is the one to the master.
func (r *replication) reads(k *conn) bool { return r != nil && r.stream == k }

// replicated carries out what has come over a link between a replica and its master.
func (n *Node) replicated(q request) {
	n.advance()
	if q.from.replica {
		n.rep.receiveFromReplica(q.from, q.args)
	} else {
		n.rep.keep()
		n.rep.receive(q.args)
	}
}

// saved is the place that an RDB file tells.
func (r *replication) saved() place {
	if r.isReplica && r.whole || !r.isReplica && !r.feeds {
		return place{}
	}
	return r.place
}

// replica says whether the node is one.
func (r *replication) replica() bool { return r != nil && r.isReplica }

// feed writes to the node's replicas, present or to come.
func (r *replication) feed(words ...string) {
	if r == nil || r.isReplica || !r.feeds {
		return
	}
	b := encode(words)
	r.offset += int64(len(b))
	r.backlog = append(r.backlog, b...)
	if over := len(r.backlog) - backlogSize; over > 0 {
		r.backlog = slices.Clone(r.backlog[over:])
	}
	for _, a := range r.replicas {
		a.unsent = append(a.unsent, b...)
	}
	r.leave.Set(0)
}

// overwrites says whether a command wrote, by its reply. Where it has changed nothing, as a
// key had that value before, Redis replicates it all the same, and WAIT waits for it.
func overwrites(name, reply string) bool {
	switch name {
	case "GETSET", "HSET", "HMSET", "LSET":
		return !strings.HasPrefix(reply, "-")
	case "SET", "MSET":
		return reply == "+OK\r\n"
	}
	return false
}

// feedKey writes what has become of a key, nil for its removal.
func (r *replication) feedKey(key string, rec *record) {
	if rec == nil {
		r.feed("DEL", key)
		return
	}
	r.feed(append([]string{"SET", key}, rec.fields()...)...)
}

// lost hears that a connection is over.
func (r *replication) lost(k *conn) {
	if r == nil {
		return
	}
	if r.stream == k {
		r.stream, r.state = nil, dialling
		_, after := r.follows.travel.dial()
		r.dial.Set(after)
		return
	}
	if i := slices.IndexFunc(r.replicas, func(a *connectedReplica) bool { return a.conn == k }); i >= 0 {
		r.replicas = slices.Delete(r.replicas, i, i+1)
		r.countGood()
	}
}

// encode writes an array of bulk strings.
func encode(words []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}
