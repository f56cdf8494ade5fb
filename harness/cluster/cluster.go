package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
)

// Config is what a run asks of a cluster.
type Config struct {
	Nodes   []string // names of the lock's servers
	Clients []string // names of all clients: each gets a link to each node and to the store
	// Aliases makes a node name stand for another's server: a server that is
	// listed twice.
	Aliases map[string]string
	// Replicas are servers beside the nodes, each with the node that is its
	// master. A replica has a link to it: Link("r1", "n1").
	Replicas map[string]string
	// Sentinels is how many Sentinels watch the first node and its replicas; see
	// SentinelNames. Clients have a link to each, and all of them share one to each
	// server: Link("sentinel", "n1"). Sentinels must agree on addresses.
	Sentinels int
	// RedisCluster makes the nodes the masters of one Redis Cluster: they share its
	// slots equally, in their order, and a replica takes over from its master by itself.
	// A master may have one replica. What members say to one another on the cluster's bus
	// passes no link.
	RedisCluster bool
	Persistence  Persistence
	// Commands are those that the servers have to know and Redis 7.0 does not; see Kind.Knows.
	Commands []string
	// Settings are further lines of redis.conf, by name, of the nodes.
	Settings map[string]string
	// Supervised nodes have a supervisor, which starts a server that has died
	// again at once, unless the machine lost its power.
	Supervised bool
	Seed       uint64
	// Delay is the one-way delay of every link, Near and Far excepted; the
	// virtual network draws around it.
	Delay time.Duration
	// Grid makes every delay of the virtual network a multiple of it, so that messages
	// arrive together; 0: no grid.
	Grid time.Duration
	// StallLimit is the lateness from which on a worker reports a stall.
	StallLimit time.Duration
	// Record takes every event of the run; it may be called from anywhere.
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

// Persistences are all of them.
var Persistences = []Persistence{PersistNone, PersistRDB, PersistNo, PersistEverysec, PersistAlways}

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster interface {
	Kind() string   // the name of its kind
	Server() string // what the servers are, with version
	// Now is the true clock: nanoseconds since the run began.
	Now() int64
	// Sleep waits on the true clock, or until ctx ends. For no time at all it waits in
	// virtual time until all that happens at this instant has happened.
	Sleep(ctx context.Context, d time.Duration) error
	Node(name string) Node
	// Link is the path from a client to a node, a replica or the store, or from
	// a replica to its master.
	Link(client, node string) Link
	// Close heals every fault, ends every process and removes every file.
	Close() error
}

// Poll asks on a cluster's true clock, every so often, until it is done or the time is over.
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

// Node is one server. Faults return once they have been seen to be in effect.
type Node interface {
	Name() string
	// Kill is SIGKILL; Shutdown is the SHUTDOWN command.
	Kill(ctx context.Context) error
	Shutdown(ctx context.Context) error
	// Start brings the node back and returns once it answers.
	Start(ctx context.Context) error
	// Pause and Resume are SIGSTOP and SIGCONT.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Flush is an operator's FLUSHALL.
	Flush(ctx context.Context) error
	// Command sends an operator's command, as words on a line, past every link, and
	// returns the first line of the reply.
	Command(ctx context.Context, line string) (string, error)
	// Look reads the node's state past every link. A node that is down or
	// paused is not up; that is no error.
	Look(ctx context.Context) (history.Node, error)
	// Clock reads the node's wall clock (TIME, or the machine's of a node that is
	// down), in nanoseconds since the run began as that clock counts them.
	Clock(ctx context.Context) (int64, error)
	// Occupy lets a script of another user run for about d. With answers the node
	// answers BUSY to whatever it is asked meanwhile, as Redis does from
	// busy-reply-threshold on, and nothing without. It returns once that has been seen to
	// be so. The function that it gives ends the script, or waits for its own end, and
	// returns once the node answers again, or does not run any more.
	Occupy(ctx context.Context, d time.Duration, answers bool) (end func(context.Context) error, err error)
	// Promote is REPLICAOF NO ONE. It returns once the server says that it is a
	// master.
	Promote(ctx context.Context) error
}

// PowerLosing is a Node whose machine can lose its power: a kill after which what had not been
// synced is gone, which says how many bytes.
type PowerLosing interface {
	Node
	PowerLoss(ctx context.Context) (lost int64, err error)
}

// Clocked is a Node whose wall clock can jump and run at another rate (0: as before). It is
// the machine's: that of a node that is down is set too, and a node that comes back has it.
type Clocked interface {
	Node
	SetClock(ctx context.Context, jump time.Duration, rate float64) error
}

// DiskFaults are the faults that a server's disk has, also for a process of it that
// starts later.
type DiskFaults struct {
	Slow time.Duration `json:"slow,omitempty"` // each fsync is delayed by so much
	Fail bool          `json:"fail,omitempty"` // each fsync fails with EIO
	Full bool          `json:"full,omitempty"` // each write fails with ENOSPC
}

// Disturbed is how many fsyncs were delayed, how many failed, and how many
// writes found the disk full.
type Disturbed struct {
	Delayed int `json:"delayed"`
	Failed  int `json:"failed"`
	Full    int `json:"full"`
}

// Late is what was late of a client's timers when they ran again.
type Late struct {
	// Probe is how late a timer is that was due when timers began to be late; 0: it was not.
	Probe time.Duration `json:"probe"`
	// Timers is how many of the lock's were late, and Latest by how much at the most.
	Timers int           `json:"timers"`
	Latest time.Duration `json:"latest"`
}

// Server is a Node that is a real Redis server.
type Server interface {
	Node
	// AwaitRestart returns once the supervisor has brought the node back that was
	// killed or shut down; false at once if it has none.
	AwaitRestart(ctx context.Context) (bool, error)
	// Info reads fields of INFO; ErrDown if the node is down.
	Info(ctx context.Context) (map[string]string, error)
	// Fill writes data of another user until no more fits, and where the server
	// evicts keys for it ten times as much; Drain removes what is left of it.
	Fill(ctx context.Context) error
	Drain(ctx context.Context) error
	// Rewrite begins a BGREWRITEAOF that takes about d, and returns once it is
	// in progress.
	Rewrite(ctx context.Context, d time.Duration) error
	// Disturb changes the disk's faults, unless change is nil, and counts what they have done so
	// far. It needs AbilityDisk.
	Disturb(change func(*DiskFaults)) (Disturbed, error)
}

// Real is a Cluster of real servers, which Sentinels may watch, or which may be the members
// of one Redis Cluster.
type Real interface {
	Cluster
	// Masters gives, for each Sentinel, the server that it names as the master.
	Masters(ctx context.Context) ([]string, error)
	// Leads says whether all members that answer, the replica among them, name it as the
	// master of the slots that were its master's.
	Leads(ctx context.Context, replica string) (bool, error)
	// SetSlot is an operator's CLUSTER SETSLOT of a key's slot on a member: IMPORTING,
	// MIGRATING or NODE with another member's name, or STABLE.
	SetSlot(ctx context.Context, member, key, state, other string) error
	// MigrateKeys has a member hand all keys of a key's slot over to another (MIGRATE).
	MigrateKeys(ctx context.Context, key, from, to string) (keys []string, err error)
	// SlotOwner is the member that all members send clients to for a key; "" while they differ.
	SlotOwner(ctx context.Context, key string) (string, error)
}

// SentinelsName is the name of all Sentinels together, as one end of links.
const SentinelsName = "sentinel"

// Link is the network between one client and one node.
type Link interface {
	// Cut holds all traffic until Heal, as a partition does under TCP: what
	// was on the way arrives after it. It says when it is in effect.
	Cut(history.Direction) error
	Heal(history.Direction) error
	// Delay adds a one-way delay, 0 to remove it.
	Delay(history.Direction, time.Duration) error
	// Intercept does something to the next commands that match; the function that
	// it returns tells to how many Messages it has been done so far, and when the First set out.
	Intercept(Intercept) (met func() Traffic, err error)
	// LetGo passes on what is being held and forgets every intercept.
	LetGo() (held int, err error)
	// Count says how many commands of a name, or of a deed (see Intercept), have
	// reached the node and how many have been answered so far.
	Count(command string) (received, answered int)
	// Measure watches what passes in a direction (not Both) from now on; the
	// function that it returns tells what has passed since.
	Measure(history.Direction) func() Traffic
}

// Traffic is what passed over a link in one direction while it was measured:
// how many messages set out, how many of these arrived, and the shortest time
// that one was delayed beyond the link's own travel time.
type Traffic struct {
	SetOut   int
	Messages int
	Shortest time.Duration
	// First are the times at which the first messages set out, at most [FirstMessages].
	First []time.Time
}

// FirstMessages is of how many messages it is known when they set out.
const FirstMessages = 16

// Intercept is a fault on single commands.
type Intercept struct {
	// Command is SET, EVAL, ...: upper case; EVAL also matches EVALSHA. Or it is a
	// deed, which commands of many names may do.
	Command string
	Part    history.Part
	Action  Action
	// Times is how many matching commands it is done to; 0 means 1.
	Times int
}

// Action is what an intercept does.
type Action string

// The actions. Hold keeps it until LetGo, and with it all that follows on that
// connection, since TCP keeps order. Lose swallows it and all that follows on
// that connection. Drop swallows it and closes the connection.
const (
	Hold Action = "hold"
	Lose Action = "lose"
	Drop Action = "drop"
)

// Lost says that a cluster which could be used cannot be used any more, why, and
// what to do.
type Lost struct {
	Cluster, Why, How string
}

func (l *Lost) Error() string {
	return fmt.Sprintf("the %s cluster is lost: %s; %s", l.Cluster, l.Why, l.How)
}

// ErrDown says that a node is not running.
var ErrDown = errors.New("the node is down")
