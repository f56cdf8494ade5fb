package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
)

// Config describes the cluster of a run.
type Config struct {
	Nodes   []string // names of the lock's servers
	Clients []string // names of all clients: each gets a link to each node and to the store
	// Aliases maps a node name to the node whose server it shares, as if a server were listed twice.
	Aliases map[string]string
	// Replicas maps each replica to its master, a node. A replica has a link to its master: Link("r1", "n1").
	Replicas map[string]string
	// Sentinels is the number of Sentinels for the first node and its replicas; see SentinelNames. Clients have a link
	// to each. All Sentinels share one link to each server, Link("sentinel", "n1"), as they must agree on addresses.
	Sentinels int
	// RedisCluster makes the nodes the masters of one Redis Cluster: they share its
	// slots equally, in their order, and a replica takes over from its master by itself.
	// A master may have one replica. No fault affects messages on the cluster's bus.
	RedisCluster bool
	Persistence  Persistence
	// Commands lists required commands that Redis 7.0 lacks; see Kind.Knows.
	Commands []string
	// Settings are further lines of the nodes' redis.conf, by name.
	Settings map[string]string
	// Supervised nodes have a supervisor, which restarts a dead server at once, unless the machine lost its power.
	Supervised bool
	Seed       uint64
	// Delay is the one-way delay of every link; the virtual network draws around it.
	Delay time.Duration
	// Grid makes every delay of the virtual network a multiple of it, so that messages
	// arrive together; 0: no grid.
	Grid time.Duration
	// StallLimit is the lateness at which a worker reports a stall.
	StallLimit time.Duration
	// Record receives every event of the run; it may be called from any goroutine.
	Record func(history.Event)
}

// Persistence is a server's persistence setting.
type Persistence string

// The persistence settings.
const (
	PersistNone     Persistence = "none"         // save "", appendonly no
	PersistRDB      Persistence = "rdb"          // Redis's default save points
	PersistNo       Persistence = "aof-no"       // appendfsync no
	PersistEverysec Persistence = "aof-everysec" // appendfsync everysec
	PersistAlways   Persistence = "aof-always"   // appendfsync always
)

// Persistences lists all settings.
var Persistences = []Persistence{PersistNone, PersistRDB, PersistNo, PersistEverysec, PersistAlways}

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster interface {
	Kind() string   // the name of its kind
	Server() string // the servers' product and version
	// Now is the true clock: nanoseconds since the run began.
	Now() int64
	// Sleep waits on the true clock, or until ctx ends. With a duration of 0 it waits, in virtual time, until every
	// event of this instant has happened.
	Sleep(ctx context.Context, d time.Duration) error
	Node(name string) Node
	// Link is the path from a client to a node, a replica or the store, or from
	// a replica to its master.
	Link(client, node string) Link
	// Close heals every fault, ends every process and removes every file.
	Close() error
}

// Poll calls ask at intervals of a cluster's true clock, until ask is done or the time within is over.
func Poll(ctx context.Context, c Cluster, within, every time.Duration,
	ask func() (done bool, err error)) (done bool, err error) {
	for deadline := c.Now() + int64(within); ; {
		if done, err = ask(); done || err != nil || c.Now() > deadline {
			return done, err
		}
		if err = c.Sleep(ctx, every); err != nil {
			return false, err
		}
	}
}

// Node is one server. A method that injects a fault returns once it has verified the effect.
type Node interface {
	Name() string
	// Kill is SIGKILL; Shutdown is the SHUTDOWN command.
	Kill(ctx context.Context) error
	Shutdown(ctx context.Context) error
	// PowerLoss is a kill that also loses unsynced writes, as a machine without power does. It returns their size in
	// bytes. It needs AbilityPowerLoss.
	PowerLoss(ctx context.Context) (lost int64, err error)
	// Start restarts the node and returns once it answers.
	Start(ctx context.Context) error
	// Pause and Resume are SIGSTOP and SIGCONT.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Flush is an operator's FLUSHALL.
	Flush(ctx context.Context) error
	// Command sends an operator's command, as words on a line, past every link, and
	// returns the first line of the reply.
	Command(ctx context.Context, line string) (string, error)
	// Look reads the node's state past every link. A node that is down or paused is not up; that is not an error.
	Look(ctx context.Context) (history.Node, error)
	// Clock reads the node's wall clock (TIME, or the machine's clock while the node is down), in that clock's
	// nanoseconds since the run began.
	Clock(ctx context.Context) (int64, error)
	// SetClock makes the wall clock jump and changes its rate (0: unchanged). The clock is the machine's: it can be set
	// while the node is down, and outlasts restarts. It needs AbilityClock.
	SetClock(ctx context.Context, jump time.Duration, rate float64) error
	// Occupy runs another user's script for about d. Meanwhile the node replies BUSY if answers is set, as Redis does
	// after busy-reply-threshold, and else sends no reply. Occupy returns once it has verified that. end ends the
	// script, or waits for its end, and returns once the node answers again or has stopped.
	Occupy(ctx context.Context, d time.Duration, answers bool) (end func(context.Context) error, err error)
	// Promote is REPLICAOF NO ONE. It returns once the server reports the role of master.
	Promote(ctx context.Context) error
}

// DiskFaults are the faults of a server's disk. They outlast restarts of the server.
type DiskFaults struct {
	Slow time.Duration `json:"slow,omitempty"` // delay of each fsync
	Fail bool          `json:"fail,omitempty"` // each fsync fails with EIO
	Full bool          `json:"full,omitempty"` // each write fails with ENOSPC
}

// Disturbed counts delayed fsyncs, failed fsyncs, and writes to a full disk.
type Disturbed struct {
	Delayed int `json:"delayed"`
	Failed  int `json:"failed"`
	Full    int `json:"full"`
}

// Late is the lateness of a client's timers after a starvation.
type Late struct {
	// Probe is the lateness of a timer that was due when the starvation began; 0: it was on time.
	Probe time.Duration `json:"probe"`
	// Timers counts the lock's late timers; Latest is their greatest lateness.
	Timers int           `json:"timers"`
	Latest time.Duration `json:"latest"`
}

// Server is a Node that is a real Redis server.
type Server interface {
	Node
	// AwaitRestart returns once the supervisor has restarted a killed or shut-down node; false at once without one.
	AwaitRestart(ctx context.Context) (bool, error)
	// Info reads fields of INFO; ErrDown if the node is down.
	Info(ctx context.Context) (map[string]string, error)
	// Fill writes another user's data until memory is full, or ten times as much if the server evicts keys; Drain
	// removes the rest of that data.
	Fill(ctx context.Context) error
	Drain(ctx context.Context) error
	// Rewrite begins a BGREWRITEAOF that takes about d, and returns once it is
	// in progress.
	Rewrite(ctx context.Context, d time.Duration) error
	// Disturb changes the disk's faults, unless change is nil, and counts their effects so far. It needs AbilityDisk.
	Disturb(change func(*DiskFaults)) (Disturbed, error)
}

// Real is a Cluster of real servers, possibly with Sentinels or as members of one Redis Cluster.
type Real interface {
	Cluster
	// Masters returns the master's name according to each Sentinel.
	Masters(ctx context.Context) ([]string, error)
	// Leads reports whether every member that answers, the replica included, names the replica as the master of its
	// former master's slots.
	Leads(ctx context.Context, replica string) (bool, error)
	// SetSlot is an operator's CLUSTER SETSLOT of a key's slot on a member: IMPORTING,
	// MIGRATING or NODE with another member's name, or STABLE.
	SetSlot(ctx context.Context, member, key, state, other string) error
	// MigrateKeys moves all keys of a key's slot to another member (MIGRATE).
	MigrateKeys(ctx context.Context, key, from, to string) (keys []string, err error)
	// SlotOwner is the member that owns a key's slot according to all members; "" while they differ.
	SlotOwner(ctx context.Context, key string) (string, error)
}

// SentinelsName is the common name of all Sentinels as one end of links.
const SentinelsName = "sentinel"

// Link is the network between one client and one node.
type Link interface {
	// Cut holds all traffic until Heal, as a partition does under TCP: messages in transit arrive after Heal. It returns
	// once it is in effect.
	Cut(history.Direction) error
	Heal(history.Direction) error
	// Delay adds to the one-way delay, or takes from it if by is negative: delays of several faults add up.
	Delay(d history.Direction, by time.Duration) error
	// Intercept acts on the next matching commands; met reports the affected Messages so far, and the send times of the
	// First.
	Intercept(Intercept) (met func() Traffic, err error)
	// LetGo delivers held messages and removes every intercept.
	LetGo() (held int, err error)
	// Observe calls f for each message that the link receives in either direction, before it goes on; nil ends that. If f
	// returns true, a command is held until LetGo.
	Observe(f func() (hold bool))
	// Count returns how many commands of a name, or with an effect (see Intercept), have
	// reached the node and how many have been answered so far.
	Count(command string) (received, answered int)
	// Measure measures the traffic in a direction, or in both together, from now on; the function that it returns
	// reports it.
	Measure(history.Direction) func() Traffic
}

// Traffic is the measured traffic of a link: the number of messages sent (SetOut), how many of these
// arrived (Messages), and the shortest delay of one beyond the link's own travel time.
type Traffic struct {
	SetOut   int
	Messages int
	Shortest time.Duration
	// First are the send times of the first messages, at most [FirstMessages].
	First []time.Time
}

// FirstMessages is the maximum length of Traffic.First.
const FirstMessages = 16

// Intercept is a fault on single commands.
type Intercept struct {
	// Command is SET, EVAL, ... in upper case; EVAL also matches EVALSHA. Or it is an effect on a lock's key
	// (history.Take, Extend, Release), which commands of many names may have.
	Command string
	Part    history.Part
	Action  Action
	// Times is the number of matching commands to affect; 0 means 1.
	Times int
}

// Action is an intercept's effect on a message.
type Action string

// The actions. Hold keeps the message, and everything behind it on its connection, until LetGo: TCP keeps order. Lose
// discards the message and everything behind it. Drop discards the message and closes the connection.
const (
	Hold Action = "hold"
	Lose Action = "lose"
	Drop Action = "drop"
)

// Lost is the error of a cluster that has become unusable, with the reason and the remedy.
type Lost struct {
	Cluster, Why, How string
}

func (l *Lost) Error() string {
	return fmt.Sprintf("the %s cluster is lost: %s; %s", l.Cluster, l.Why, l.How)
}

// ErrDown is the error of a node that is not running.
var ErrDown = errors.New("the node is down")
