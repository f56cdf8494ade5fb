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

// replication is a node's replication state, modelled on redis-server 7.0 with repl-diskless-sync no, the setting of
// the other clusters' servers. A master answers its clients first and sends changes to its replicas afterwards, over
// links that can be cut and delayed. A reconnecting replica requests the missing writes, and gets those or a full copy.
// replication_test.go compares the model with redis-server.
//
// A change carries a key's new record, where Redis sends the command, so offsets differ from Redis's, and the handshake
// is one message each way. The node's lock guards all fields.
type replication struct {
	node    *Node
	follows *path // to the configured master; nil: none
	// leastReplicas and maxLag are min-replicas-to-write and min-replicas-max-lag.
	leastReplicas int
	maxLag        int64 // in seconds

	cron    *scheduler.Timer // runs once a second
	sending *scheduler.Timer // sends changes
	fork    *scheduler.Timer // sends finished copies
	dial    *scheduler.Timer // connects to the master

	ids         int // number of sequences so far
	replicating     // ends with the server's process
}

// replicating is the replication state of a server's process.
type replicating struct {
	isReplica bool
	position           // in bytes
	before    position // the previous sequence, which equals this one up to this offset
	loops     int      // of cron

	// For masters.
	feeds    bool                // it has had a replica, so writes are counted and kept in the backlog
	backlog  []byte              // the end of its writes
	replicas []*connectedReplica // in the order of connection
	good     int                 // replicas that count for min-replicas-to-write

	// For replicas.
	state       replicaState
	stream      *conn // to the master
	lastContact int64 // of the master, in seconds of the node's clock
	fsynced     int64 // the offset on its disk
	needsCopy   bool  // its keys match no position of a sequence
}

// replicaState is the state of a replica's connection to its master.
type replicaState int

const (
	unlinked   replicaState = iota // no connection
	connecting                     // before the handshake
	requesting                     // it has requested the missing writes, and may get a full copy
	following                      // it is complete and receives changes
)

// Redis's defaults.
const (
	replTimeout   = 60                     // repl-timeout, in seconds
	pingPeriod    = 10                     // repl-ping-replica-period, in seconds
	backlogSize   = 1 << 20                // repl-backlog-size, in bytes
	defaultMaxLag = "10"                   // min-replicas-max-lag, in seconds
	forkPeriod    = 100 * time.Millisecond // interval of the server's checks for ended children (hz 10)
)

// The messages of a replication stream besides SET, DEL and PING.
const (
	fullResync = "FULLRESYNC" // a copy's position follows
	fullCopy   = "COPY"       // keys, values and expiries
	partSync   = "CONTINUE"   // the sequence's name; its rest follows from the replica's offset
)

// replicaLimits reads min-replicas-to-write and min-replicas-max-lag, the latter in seconds. If one is 0, both are off
// (Redis, checkGoodReplicasStatus).
func replicaLimits(cfg cluster.Config) (replicas, lag int, err error) {
	replicas, err = count(cluster.MinReplicas, cmp.Or(cfg.Settings[cluster.MinReplicas], "0"))
	lag, wrong := count(cluster.MinLag, cmp.Or(cfg.Settings[cluster.MinLag], defaultMaxLag))
	if lag == 0 {
		replicas = 0
	}
	return replicas, lag, errors.Join(err, wrong)
}

func count(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("virtual cluster: invalid %s %q: want a whole number, 0 or more", name, value)
	}
	return n, nil
}

// replicate starts replication on the replicas, their masters, and every node that must not write without replicas.
func (c *Cluster) replicate(replicas []string, least, lag int) {
	for _, name := range c.cfg.Servers() {
		master := c.cfg.Replicas[name]
		switch {
		case master != "": // after a promotion it has no replicas
			c.nodes[name].replicate(c.paths[history.Link{From: name, To: master}], 0, lag)
		case c.cfg.Replicates(name) || least > 0 && name != history.StoreName:
			c.nodes[name].replicate(nil, least, lag)
		}
	}
	for _, name := range replicas {
		c.nodes[name].rep.startFollowing()
	}
}

// replicate starts replication on a started node.
func (n *Node) replicate(follows *path, leastReplicas, maxLag int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &replication{node: n, follows: follows, leastReplicas: leastReplicas, maxLag: int64(maxLag)}
	r.cron, r.sending = n.timer(n.whileRunning(r.runCron)), n.timer(n.whileRunning(r.send))
	r.fork, r.dial = n.timer(n.whileRunning(r.sendCopies)), n.timer(r.dialMaster)
	n.rep, n.disk.where = r, r.saved
	r.begin()
}

// whileRunning skips a timer's action while the node is down or suspended; resumeTimers sets the timers again.
func (n *Node) whileRunning(do func()) func() {
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.server != nil && !n.suspended() {
			n.advance()
			do()
		}
	}
}

// suspended reports whether the server's process is paused or occupied by a script.
func (n *Node) suspended() bool { return n.paused || n.script != unoccupied }

// resumeTimers sets the timers of a resumed server.
func (n *Node) resumeTimers() {
	if r := n.rep; r != nil {
		for _, t := range []*scheduler.Timer{r.cron, r.sending, r.fork} {
			t.Set(0)
		}
		if r.state == connecting {
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

// begin starts with the configured role, as a starting server does.
func (r *replication) begin() {
	r.replicating = replicating{isReplica: r.follows != nil, needsCopy: true, lastContact: r.seconds()}
	r.rename()
	if saved := r.node.disk.position; saved.id != "" && r.node.disk.loadsSnapshot() {
		// A replica continues from there, and a master lets its replicas do so.
		r.feeds, r.offset = true, saved.offset
		if r.needsCopy = !r.isReplica; r.isReplica {
			r.id = saved.id
		} else {
			r.before = saved
		}
	}
	// The first cron runs in the first turn of the event loop.
	r.cron.Set(time.Millisecond)
}

// rename begins a new sequence of writes.
func (r *replication) rename() {
	r.ids++
	sum := sha1.Sum(fmt.Appendf(nil, "%d %s %d sequence", r.node.seed, r.node.name, r.ids))
	r.id = hex.EncodeToString(sum[:])
}

// seconds is the node's wall clock in seconds.
func (r *replication) seconds() int64 { return r.node.clock.At(r.node.now()) / int64(time.Second) }

// status is the content of INFO replication; nil if the node does not replicate.
func (r *replication) status() *history.Replication {
	if r == nil {
		return nil
	}
	s := &history.Replication{Role: history.RoleMaster, History: r.id, Offset: r.offset}
	if r.isReplica {
		s.Role, s.Linked = history.RoleReplica, r.state == following
	}
	return s
}

// written is the node's offset in its sequence of writes.
func (r *replication) written() int64 {
	if r == nil {
		return 0
	}
	return r.offset
}

// reads reports whether k is the connection to the master.
func (r *replication) reads(k *conn) bool { return r != nil && r.stream == k }

// replicated handles a message between a replica and its master.
func (n *Node) replicated(q request) {
	n.advance()
	if q.from.replica {
		n.rep.receiveFromReplica(q.from, q.args)
	} else {
		n.rep.updateFsynced()
		n.rep.receive(q.args)
	}
}

// saved is the position to store in an RDB file.
func (r *replication) saved() position {
	if r.isReplica && r.needsCopy || !r.isReplica && !r.feeds {
		return position{}
	}
	return r.position
}

// replica reports whether the node is a replica.
func (r *replication) replica() bool { return r != nil && r.isReplica }

// feed writes to the backlog and the node's replicas.
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
	r.sending.Set(0)
}

// overwrites reports from its reply whether a command wrote. Even if the key had the same value before, Redis
// replicates the write, and WAIT waits for it.
func overwrites(name, reply string) bool {
	switch name {
	case "GETSET", "HSET", "HMSET", "LSET":
		return !strings.HasPrefix(reply, "-")
	case "SET", "MSET":
		return reply == "+OK\r\n"
	}
	return false
}

// feedKey writes a key's new record, nil for its removal.
func (r *replication) feedKey(key string, rec *record) {
	if rec == nil {
		r.feed("DEL", key)
		return
	}
	r.feed(append([]string{"SET", key}, rec.fields()...)...)
}

// disconnected handles the end of a connection.
func (r *replication) disconnected(k *conn) {
	if r == nil {
		return
	}
	if r.stream == k {
		r.stream, r.state = nil, connecting
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
