package virtual

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// Node is a server in memory: miniredis, with a wall clock and a disk of its
// own. A key expires exactly a TTL after it was set, by the node's wall clock, to the nanosecond; Redis counts
// in milliseconds and may keep the key for one more.
type Node struct {
	name    string
	seed    uint64
	release release
	now     func() int64 // the true clock

	scheduler *scheduler.Scheduler
	order     int              // rank among all nodes with events at one instant
	execution *scheduler.Timer // executes queued commands

	// mu is never held while virtual time passes: a goroutine that waits for a mutex stops the bubble's clock.
	mu          sync.Mutex
	clock       cluster.LinearClock // the wall clock
	disk        *disk
	running           // ends with the server's process
	reading     int64 // the wall clock's reading that miniredis has
	booted      int64 // the wall clock's reading at the server's start
	starts      int
	runID       string
	conns       map[*conn]bool
	subscribers []*conn          // connections that have sent SUBSCRIBE, in that order
	fsync       *scheduler.Timer // answers connections that wait for the node's disk
	rep         *replication     // nil: the node does not replicate
	ended       bool             // for good
}

// running is the state of a server's process, without its connections. The zero value is a node that is down.
type running struct {
	server  *miniredis.Miniredis // nil while the node is down
	paused  bool
	closing bool       // it is shutting down, and waits for its replicas
	script  occupation // by another user's script
	queue   []request  // commands that have arrived
	waiting []*conn    // connections in WAIT or WAITAOF, in that order
}

var _ cluster.Node = (*Node)(nil)

// newNode starts a node. Node.end ends it.
func newNode(name string, seed uint64, r release, setting cluster.Persistence, now func() int64,
	s *scheduler.Scheduler, order int) *Node {
	n := &Node{name: name, seed: seed, release: r, now: now, scheduler: s, order: order, clock: cluster.TrueClock(),
		disk: newDisk(setting), conns: map[*conn]bool{}}
	n.execution, n.fsync = n.timer(n.executeNext), n.timer(n.whileRunning(n.acknowledged))
	n.start()
	return n
}

// timer makes an event of the node. A node has no goroutines.
func (n *Node) timer(do func()) *scheduler.Timer {
	return n.scheduler.NewTimer(scheduler.Key{Class: scheduler.Node, A: n.order}, do).Passive()
}

func (n *Node) Name() string { return n.name }

// start starts the server with the disk's keys. The caller holds the lock.
func (n *Node) start() {
	now := n.now()
	n.starts++
	id := sha1.Sum(fmt.Appendf(nil, "%d %s %d", n.seed, n.name, n.starts))
	n.runID = hex.EncodeToString(id[:])
	n.disk.start(now)
	if n.rep != nil {
		n.rep.begin()
	}
	n.reading = n.clock.At(now)
	n.booted = n.reading
	n.expire(now)
	n.boot()
}

// boot makes a miniredis with the disk's keys. The caller holds the lock.
func (n *Node) boot() {
	m := script.NewServer()
	m.Server().SetPreHook(n.screen)
	m.SetTime(epoch.Add(time.Duration(n.reading)))
	m.Seed(int(mix(n.seed, n.name, n.runID))) // for SPOP and its like
	n.server = m
	for key, r := range n.disk.keys {
		n.show(key, r)
	}
}

// advance brings miniredis and the disk up to the present. miniredis stores a key's remaining time, Redis the wall
// clock's time of its expiry; so a clock that was set back must lengthen the remaining time. The caller holds the lock,
// and the node is up.
func (n *Node) advance() {
	now := n.now()
	n.disk.settle(now)
	reading := n.clock.At(now)
	if reading == n.reading {
		return
	}
	n.server.SetTime(epoch.Add(time.Duration(reading)))
	n.server.FastForward(time.Duration(reading - n.reading))
	back := reading < n.reading
	n.reading = reading
	n.expire(now)
	if back && n.rep.replica() { // hidden keys may be visible again
		for key, r := range n.disk.keys {
			n.show(key, r)
		}
	}
}

// expire removes expired keys. A replica waits for its master's DEL instead.
func (n *Node) expire(now int64) {
	if n.rep.replica() {
		return
	}
	for key, r := range n.disk.keys {
		if r.expires && r.expiry <= n.reading {
			n.disk.expired(now, key)
			n.rep.feedKey(key, nil)
		}
	}
}

// propagate writes a key's new record, nil for its removal, to the disk and the replicas.
func (n *Node) propagate(key string, rec *record) {
	n.disk.write(n.now(), key, rec)
	n.rep.feedKey(key, rec)
}

// journal propagates all changes of a command.
func (n *Node) journal() {
	left := map[string]bool{}
	for _, key := range n.server.Keys() { // sorted
		r, there := n.record(key)
		if !there {
			continue
		}
		left[key] = true
		if old, ok := n.disk.keys[key]; !ok || old != r {
			n.propagate(key, &r)
		}
	}
	for _, key := range sortedKeys(n.disk.keys) {
		if !left[key] {
			n.propagate(key, nil)
		}
	}
}

// Look reads the node's lock keys as they are at this instant.
func (n *Node) Look(context.Context) (history.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || n.paused || n.script != unoccupied {
		return history.Node{}, nil
	}
	n.advance()
	keys := make(map[string]history.KeyState, len(n.disk.keys))
	for key, r := range n.disk.keys {
		if strings.HasPrefix(key, history.FencePrefix) || r.expires && r.expiry <= n.reading {
			continue
		}
		state := history.KeyState{TTL: -1}
		if r.kind == kindString { // other types have no token, as on real servers
			state.Token = r.value
		}
		if r.expires {
			state.TTL = r.expiry - n.reading
		}
		keys[key] = state
	}
	return history.Node{Up: true, RunID: n.runID, Keys: keys, Replication: n.rep.status()}, nil
}

// LongestTTL is the time after which no key of now is left that expires.
func (n *Node) LongestTTL() (longest time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.advance()
	for _, r := range n.disk.keys {
		if r.expires {
			longest = max(longest, time.Duration(r.expiry-n.reading))
		}
	}
	return longest
}

// Clock is the wall clock's reading. TIME returns it in microseconds.
func (n *Node) Clock(context.Context) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil && n.paused {
		return 0, n.cannot("read the clock of")
	}
	return n.clock.At(n.now()), nil
}

// SetClock makes the wall clock jump and changes its rate. It also works while the node is down: a machine can boot
// with a wrong clock.
func (n *Node) SetClock(_ context.Context, jump time.Duration, rate float64) error {
	if rate < 0 {
		return fmt.Errorf("node %s: a clock cannot run at rate %g: give a positive one, or 0 to leave it", n.name, rate)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil && !n.paused {
		n.advance() // keys that have expired by now stay expired
	}
	n.clock.Set(n.now(), jump, rate)
	if n.server != nil && !n.paused {
		n.advance()
	}
	return nil
}

func (n *Node) Flush(ctx context.Context) error {
	got, err := n.command("flush", "FLUSHALL")
	if err == nil && got != "+OK" {
		err = fmt.Errorf("node %s: FLUSHALL was answered %q", n.name, got)
	}
	return err
}

func (n *Node) Command(ctx context.Context, line string) (string, error) {
	if words := strings.Fields(line); words[0] == "REPLICAOF" {
		return n.replicaOf(ctx, words[1:])
	}
	return n.command("send "+line+" to", line)
}

// command executes a line. what names the action in errors.
func (n *Node) command(what, line string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || n.paused {
		return "", n.cannot(what)
	}
	reply, _, _ := strings.Cut(string(n.execute(n.newConn(nil), strings.Fields(line))), "\r\n")
	return reply, nil
}

// cannot is the error of an action on a node that is down or paused.
func (n *Node) cannot(what string) error {
	if n.server == nil {
		return fmt.Errorf("%s %s: %w", what, n.name, cluster.ErrDown)
	}
	return fmt.Errorf("%s %s: it is paused and cannot obey: resume it first", what, n.name)
}
