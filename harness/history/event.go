package history

import "strings"

// Version is the version of the line format, kept in each header.
const Version = 1

// Type says what kind of line an event is. Client operations use Jepsen's
// words: an invoke is followed by an ok, a fail (it certainly did not happen)
// or an info (nobody knows).
type Type string

// The event types.
const (
	TypeHeader  Type = "header"  // first line of a history: what was run
	TypeInvoke  Type = "invoke"  // a client calls an operation
	TypeOK      Type = "ok"      // the operation took effect
	TypeFail    Type = "fail"    // the operation did not take effect
	TypeInfo    Type = "info"    // the operation's fate is unknown
	TypeLost    Type = "lost"    // a client is told that it lost its lease
	TypeCancel  Type = "cancel"  // a caller gave up the operation that its client has under way
	TypeCommand Type = "command" // a command reached a node over a link
	TypeReply   Type = "reply"   // the node answered a command on a link
	TypeFault   Type = "fault"   // the nemesis began or ended a fault
	TypeNode    Type = "node"    // a node came up, went down, or was looked into
	TypeClock   Type = "clock"   // a client's or node's clock was set
	TypeStall   Type = "stall"   // a process of the harness was held up
	TypeNote    Type = "note"    // the script reached a step; a remark for the reader
	TypeEnd     Type = "end"     // last line: the run was not cut short
)

// FencePrefix begins the keys of fencing counters, at the nodes and at the store.
// They are no locks: they have no owner and must not expire, and no look at a
// node tells of them.
const FencePrefix = "fence:"

// RegisterPrefix begins the keys of the registers at the store: value:k1 holds the
// version of what the lock k1 guards.
const RegisterPrefix = "value:"

// Op is a client operation.
type Op string

// The client operations.
const (
	OpAcquire Op = "acquire" // get the lock, with the lock's own retries
	OpExtend  Op = "extend"  // prolong the lease
	OpRelease Op = "release" // give the lock back
	OpCheck   Op = "check"   // ask the lease whether it is still valid
	OpRead    Op = "read"    // read the register at the store
	OpWrite   Op = "write"   // write it, derived from what was read
)

// Why an operation failed, where the lock can tell.
const (
	ReasonHeld           = "held"        // another owner holds a majority, or enough to prevent one
	ReasonNoMajority     = "no-majority" // too few nodes answered
	ReasonTooLate        = "too-late"    // a majority said yes, but no validity was left
	ReasonLost           = "lost"        // the lease is not ours any more
	ReasonExtensionLimit = "bounded"     // no more extensions are allowed
	ReasonCancelled      = "cancelled"   // the caller gave up
	ReasonRefused        = "refused"     // the lock refuses its configuration
	ReasonStale          = "stale"       // the store rejected an old fencing token or a changed value
	ReasonExpired        = "expired"     // the client saw that its lease was over and did not act
	ReasonOther          = "other"       // anything else: see Error
	// ReasonPreconditionFailed is a note's: a step of the script did not come out as it had
	// to for the run to show anything.
	ReasonPreconditionFailed = "unmet"
)

// Event is one line. Which fields are set depends on Type.
type Event struct {
	// Time is in nanoseconds since the run began, on the true clock: the
	// bubble's in virtual time, the host's CLOCK_MONOTONIC otherwise.
	Time int64 `json:"time"`
	// Process is who it happened to: a client (c1), a node (n3), a link
	// (c1>n3), store, nemesis or harness.
	Process string `json:"process"`
	Type    Type   `json:"type"`

	// Op and ID name a client operation; ID counts within the process from 1
	// and joins an invoke to its outcome.
	Op Op  `json:"op,omitempty"`
	ID int `json:"id,omitempty"`
	// Lease is the ID of the acquire that began the lease an operation is about.
	Lease int    `json:"lease,omitempty"`
	Key   string `json:"key,omitempty"`
	// Token is the value that the lock stores at its key.
	Token string `json:"token,omitempty"`
	// Fence is the fencing token, from 1; 0 where the lock issues none.
	Fence int64 `json:"fence,omitempty"`
	// Validity is set with the ok of an acquire or extend: for how many
	// nanoseconds on its own clock the client will believe in the lease,
	// counted from Time. Wall says that it believes its wall clock, not its
	// monotonic one.
	Validity int64 `json:"validity,omitempty"`
	Wall     bool  `json:"wall,omitempty"`
	// Value is the version read or written at the store; Base is the version
	// that a write was derived from. Versions are unique; "" is the initial one.
	Value string `json:"value,omitempty"`
	Base  string `json:"base,omitempty"`
	// Reason is one of the Reason constants; Error is the lock's own text.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`

	Command *Command `json:"command,omitempty"` // command, reply
	Fault   *Fault   `json:"fault,omitempty"`   // fault
	Node    *Node    `json:"node,omitempty"`    // node
	Clock   *Clock   `json:"clock,omitempty"`   // clock
	// Late is how long a stalled process was held up, in nanoseconds; the
	// stall ended at Time.
	Late int64  `json:"late,omitempty"`
	Text string `json:"text,omitempty"` // note
	// Header is set on the first line.
	Header *Header `json:"header,omitempty"`
}

// Command is one Redis command as seen on a link, read from RESP. Serial
// counts the commands of one link from 1 and joins a reply to its command.
// Effect says what the command, or on a reply what the answered command, means
// for the key; "" where it means nothing.
type Command struct {
	Serial int64  `json:"serial"`
	Name   string `json:"name"` // SET, GET, EVAL, ...
	Key    string `json:"key,omitempty"`
	// the owner that it sets, deletes or extends; at the store, the version that it writes
	Token  string `json:"token,omitempty"`
	Expiry int64  `json:"expiry,omitempty"` // what it sets as the key's time to live, in nanoseconds; 0 if none
	// ExpiresAt is when the key is to expire, where it sets that (PXAT): nanoseconds since
	// the run began, as the node's wall clock counts them; 0 if it does not.
	ExpiresAt int64  `json:"ends,omitempty"`
	Effect    Effect `json:"effect,omitempty"`
	// Unconditional is set where the command takes the key whether or not it is free: a SET
	// without NX.
	Unconditional bool `json:"plain,omitempty"`
	// Extends is set where a script that takes a free key extends one that has its token already.
	Extends bool `json:"extends,omitempty"`
	// Fence and Base are what a script at the store compares: a fencing token with the
	// highest that it has seen, or a version with the present one.
	Fence int64  `json:"fence,omitempty"`
	Base  string `json:"base,omitempty"`
	// Others are further words of a command that we do not know, or further keys of a script:
	// it may have changed any of them. One without Key and Effect may have changed every key.
	Others []string `json:"others,omitempty"`
	Reply  string   `json:"reply,omitempty"` // OK, nil, 1, "error: ..."; shortened to 64 bytes
	// Done is set on a reply when the effect took place.
	Done bool `json:"done,omitempty"`
}

// Failed reports whether it was answered by an error: it did nothing.
func (c *Command) Failed() bool { return strings.HasPrefix(c.Reply, "error:") }

// MayChange reports whether a command may change keys, and it is not known how.
func (c *Command) MayChange() bool { return c.Effect == "" && c.Name != "WAIT" }

// Effect is what a command does to a lock's key.
type Effect string

// The effects that a lock's commands can have.
const (
	EffectSet    Effect = "set"    // takes the key if it is free
	EffectExtend Effect = "extend" // sets a new expiry
	EffectDelete Effect = "delete" // removes the key
	EffectRead   Effect = "read"   // looks at it
)

// Fault is one beginning or ending of a fault, with what was asked for and
// what was measured afterwards: a fault proves that it took effect.
type Fault struct {
	ID   int    `json:"id"`   // joins the end of a fault to its beginning
	Kind string `json:"kind"` // kill, pause, cut, ...: the verbs of scenario files
	// Class is what it does to its targets; those who judge go by it.
	Class   Class    `json:"class"`
	Phase   Phase    `json:"phase"`
	Targets []string `json:"targets"`
	Asked   Asked    `json:"asked,omitzero"`
	// Measured is the proof that it took effect, by name: {"jump": "1.000021s"}.
	Measured map[string]string `json:"measured,omitempty"`
	// Effective is whether the measurement shows the fault that was asked for.
	Effective bool `json:"effective"`
	// Delay is how much longer each message takes on a slow link, one way, in nanoseconds.
	Delay int64 `json:"by,omitempty"`
	// Count is on how many messages it is, where it is on single ones; 0: one.
	Count int `json:"times,omitempty"`
	// Affected is, with the end of a fault or of one without duration, to how much it was
	// done: messages held, commands that a paused node was sent, keys. Nil: not counted.
	Affected *int `json:"met,omitempty"`
	// SentAt is, with the end of a cut, when the client sent the node something meanwhile;
	// with that of a fault on single messages, when those that it was done to set out. In
	// order, and the first 16 times.
	SentAt []int64 `json:"sent_at,omitempty"`
	// Random marks a fault that a seeded schedule drew: it need not have met anything,
	// as long as enough others have.
	Random bool `json:"drawn,omitempty"`
	// Since is the true time from which on it may have been in effect, if that is
	// before the event's, at which it was seen to be.
	Since int64 `json:"since,omitempty"`
	// Past says in words what happened to a target: "was killed". Ends have none.
	Past string `json:"was,omitempty"`
	// Background marks a fault that is part of the scenario's setting (who reaches
	// whom, who is far away), not of what goes wrong in it.
	Background bool `json:"setting,omitempty"`
}

// ToClient reports whether it is on what nodes send alone: what clients send goes through.
func (f *Fault) ToClient() bool { return f.Asked.Direction == ToClient }

// OnSetReplies reports whether it is on the replies to SETs.
func (f *Fault) OnSetReplies() bool {
	return f.Asked.Part == PartReply && (f.Asked.Command == Take || f.Asked.Command == "SET")
}

// Phase of a fault. A fault that has no duration (kill, flush, jump) is an
// Instant; others have a Begin and an End.
type Phase string

// The phases of a fault.
const (
	PhaseBegin   Phase = "begin"
	PhaseEnd     Phase = "end"
	PhaseInstant Phase = "instant"
)

// Node is what a look into a node showed, past every link: at the start and
// end of the run, after each start, and before each kill.
type Node struct {
	Up    bool   `json:"up"`
	RunID string `json:"run_id,omitempty"`
	// Keys are the lock keys present: key to owner's token.
	Keys map[string]KeyState `json:"keys,omitempty"`
	// Replication is set where the cluster has replicas.
	Replication *Replication `json:"replication,omitempty"`
}

// Replication is what a server says of itself in INFO replication.
type Replication struct {
	Role Role `json:"role"`
	// Linked is whether a replica is connected to its master, and has its data.
	Linked bool `json:"linked,omitempty"`
	// History names the sequence of writes that Offset counts, in bytes: a
	// replica that has the same of both as its master has every write.
	History string `json:"history"`
	Offset  int64  `json:"offset"`
}

// Role is a server's part in replication.
type Role string

// The roles.
const (
	RoleMaster  Role = "master"
	RoleReplica Role = "replica"
)

// KeyState is one key on a node. TTL is in nanoseconds on the node's clock; -1
// means that the key has no expiry.
type KeyState struct {
	Token string `json:"token"`
	TTL   int64  `json:"ttl"`
}

// Clock is a process's clock from Time on: its reading at Time, in
// nanoseconds since the run began as that clock counts them, and how many of
// its nanoseconds pass in one true nanosecond. A client has two clocks; Wall
// tells which one this is. A node has only a wall clock.
type Clock struct {
	Reading int64   `json:"reading"`
	Rate    float64 `json:"rate"`
	Wall    bool    `json:"wall"`
}
