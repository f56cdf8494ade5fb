package history

import (
	"math"
	"strings"
)

// Version is the version of the line format, kept in each header.
const Version = 1

// MaxTime is the largest time of an event, some 36 years. The checker takes any later time for never.
const MaxTime = math.MaxInt64 / 8

// Type is an event's type. Client operations use Jepsen's words: after an invoke comes an ok, a fail (it certainly did
// not happen) or an info (unknown).
type Type string

// The event types.
const (
	TypeHeader  Type = "header"  // first line of a history: the trial's set-up
	TypeInvoke  Type = "invoke"  // a client calls an operation
	TypeOK      Type = "ok"      // the operation took effect
	TypeFail    Type = "fail"    // the operation did not take effect
	TypeInfo    Type = "info"    // the operation's effect is unknown
	TypeLost    Type = "lost"    // a client learns that it lost its lease
	TypeCancel  Type = "cancel"  // a caller cancelled its client's pending operation
	TypeCommand Type = "command" // a command reached a node over a link
	TypeReply   Type = "reply"   // the node answered a command on a link
	TypeFault   Type = "fault"   // the nemesis began or ended a fault
	TypeNode    Type = "node"    // a node started, stopped, or was inspected
	TypeClock   Type = "clock"   // a client's or node's clock was set
	TypeStall   Type = "stall"   // a process of the harness was late
	TypeNote    Type = "note"    // the script reached a step; a remark for the reader
	TypeEnd     Type = "end"     // last line: the run and the file are complete
)

// FencePrefix begins the keys of fencing counters, at the nodes and at the store. They are not locks: they have no
// owner and must not expire, and node events omit them.
const FencePrefix = "fence:"

// RegisterPrefix begins the keys of the registers at the store: value:k1 has the version of the data that the lock k1
// guards.
const RegisterPrefix = "value:"

// Op is a client operation.
type Op string

// The client operations.
const (
	OpAcquire Op = "acquire" // with the lock's own retries
	OpExtend  Op = "extend"  // prolong the lease
	OpRelease Op = "release"
	OpCheck   Op = "check" // check whether the lease is still valid
	OpRead    Op = "read"  // read the register at the store
	OpWrite   Op = "write" // write it, derived from the version read
)

// Why an operation failed, as the lock reports it.
const (
	ReasonHeld           = "held"        // another owner holds a majority, or enough to prevent one
	ReasonNoMajority     = "no-majority" // too few nodes answered
	ReasonTooLate        = "too-late"    // a majority agreed, but no validity was left
	ReasonLost           = "lost"        // the lease was lost
	ReasonExtensionLimit = "bounded"     // the limit of extensions is reached
	ReasonCancelled      = "cancelled"   // the caller cancelled
	ReasonRefused        = "refused"     // the lock refuses its configuration
	ReasonStale          = "stale"       // the store rejected an old fencing token or a changed value
	ReasonExpired        = "expired"     // the client saw that its lease was over and did not act
	ReasonOther          = "other"       // anything else: see Error
	// ReasonPreconditionFailed is for notes: a step of the script did not have its required outcome, or a node refused
	// what a server would do.
	ReasonPreconditionFailed = "unmet"
)

// Unmodelled is in the reply to a command that a cluster does not model.
const Unmodelled = "is not modelled by the virtual cluster"

// Event is one line. Which fields are set depends on Type.
type Event struct {
	// Time is in nanoseconds since the run began, on the true clock: the bubble's in virtual time, the host's
	// CLOCK_MONOTONIC otherwise.
	Time int64 `json:"time"`
	// Process is the event's client (c1), node (n3) or link (c1>n3), or store, nemesis or harness.
	Process string `json:"process"`
	Type    Type   `json:"type"`

	// Op and ID name a client operation; ID counts within the process from 1
	// and joins an invoke to its outcome.
	Op Op  `json:"op,omitempty"`
	ID int `json:"id,omitempty"`
	// Lease is the ID of the acquire that began the operation's lease.
	Lease int    `json:"lease,omitempty"`
	Key   string `json:"key,omitempty"`
	// Token is the value that the lock stores at its key.
	Token string `json:"token,omitempty"`
	// Fence is the fencing token, from 1; 0 if the lock issues none.
	Fence int64 `json:"fence,omitempty"`
	// Validity is set with the ok of an acquire or extend: for this many nanoseconds from Time the client relies on the
	// lease, by its own clock. Wall: by its wall clock, not its monotonic one.
	Validity int64 `json:"validity,omitempty"`
	Wall     bool  `json:"wall,omitempty"`
	// Value is the version read or written at the store; Base is the version that a write was derived from. Versions are
	// unique; "" is the initial one.
	Value string `json:"value,omitempty"`
	Base  string `json:"base,omitempty"`
	// Reason is one of the Reason constants; Error is the lock's own text.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`

	Command *Command `json:"command,omitempty"` // command, reply
	Fault   *Fault   `json:"fault,omitempty"`   // fault
	Node    *Node    `json:"node,omitempty"`    // node
	Clock   *Clock   `json:"clock,omitempty"`   // clock
	// Late is the length of a stall in nanoseconds; it ended at Time.
	Late int64  `json:"late,omitempty"`
	Text string `json:"text,omitempty"` // note
	// Sum, of an end, is the SHA-256 of the lines before it, in hexadecimal: nobody has cut or changed the file.
	Sum string `json:"sum,omitempty"`
	// Header is set on the first line.
	Header *Header `json:"header,omitempty"`
}

// Command is one Redis command on a link, read from RESP. Serial counts the commands of one link from 1 and joins a
// reply to its command. Effect is the effect of the command, or of a reply's command, on the key; "" if it has none or
// an unknown one.
type Command struct {
	Serial int64  `json:"serial"`
	Name   string `json:"name"` // SET, GET, EVAL, ...
	Key    string `json:"key,omitempty"`
	// the owner that it sets, deletes or extends; at the store, the version that it writes
	Token  string `json:"token,omitempty"`
	Expiry int64  `json:"expiry,omitempty"` // the key's time to live that it sets, in nanoseconds; 0 if none
	// ExpiresAt is the time of expiry that it sets (PXAT): nanoseconds since the run began, as the node's wall clock
	// counts them; 0 if none.
	ExpiresAt int64  `json:"ends,omitempty"`
	Effect    Effect `json:"effect,omitempty"`
	// Unconditional: the command sets the key whether or not it is free: a SET without NX.
	Unconditional bool `json:"plain,omitempty"`
	// Extends: a script that sets a free key also extends a key with its own token.
	Extends bool `json:"extends,omitempty"`
	// Fence and Base are arguments of a script at the store: a fencing token to compare with the highest one so far, or
	// a version to compare with the current one.
	Fence int64  `json:"fence,omitempty"`
	Base  string `json:"base,omitempty"`
	// Others are further words of an unknown command, or further keys of a script: it may have changed any of them. A
	// command without Key and Effect may have changed every key.
	Others []string `json:"others,omitempty"`
	Reply  string   `json:"reply,omitempty"` // OK, nil, 1, "error: ..."; shortened to 64 bytes
	// Done is set on a reply when the effect took place.
	Done bool `json:"done,omitempty"`
}

// Failed reports whether the reply is an error, so that the command had no effect.
func (c *Command) Failed() bool { return strings.HasPrefix(c.Reply, "error:") }

// MayChange reports whether a command may change keys in an unknown way.
func (c *Command) MayChange() bool { return c.Effect == "" && c.Name != "WAIT" }

// Effect is what a command does to a lock's key.
type Effect string

// The effects that a lock's commands can have.
const (
	EffectSet    Effect = "set"    // sets the key if it is free
	EffectExtend Effect = "extend" // sets a new expiry
	EffectDelete Effect = "delete" // deletes the key
	EffectRead   Effect = "read"   // reads it
)

// Fault is the begin or end of a fault, with its parameters and a measurement that proves its effect.
type Fault struct {
	ID   int    `json:"id"`   // joins the end of a fault to its beginning
	Kind string `json:"kind"` // kill, pause, cut, ...: the verbs of scenario files
	// Class is its effect on its targets; the checker judges by it.
	Class   Class    `json:"class"`
	Phase   Phase    `json:"phase"`
	Targets []string `json:"targets"`
	Asked   Asked    `json:"asked,omitzero"`
	// Measured is the proof of its effect, by name: {"jump": "1.000021s"}.
	Measured map[string]string `json:"measured,omitempty"`
	// Effective reports whether the measurement shows the requested fault.
	Effective bool `json:"effective"`
	// Delay is the extra time of each message on a slow link, one way, in nanoseconds.
	Delay int64 `json:"by,omitempty"`
	// Count is the number of messages of a fault on single messages; 0: one.
	Count int `json:"times,omitempty"`
	// Affected, with an end or an instant, counts held messages, commands to a paused node, or keys. Nil: not counted.
	Affected *int `json:"met,omitempty"`
	// SentAt, with the end of a cut, are the times at which the client sent to the node meanwhile; with the end of a
	// fault on single messages, their send times. In order, the first 16.
	SentAt []int64 `json:"sent_at,omitempty"`
	// Random marks a fault of a seeded schedule: it need not have affected anything, if enough others have.
	Random bool `json:"drawn,omitempty"`
	// Since is the earliest true time at which it may have taken effect, if before the event's, at which its effect was
	// measured.
	Since int64 `json:"since,omitempty"`
	// Past describes the effect on a target: "was killed". Ends have none.
	Past string `json:"was,omitempty"`
	// Background marks a fault of the scenario's set-up: links that are cut or slow from the start.
	Background bool `json:"setting,omitempty"`
}

// ToClient reports whether the fault affects only messages from nodes.
func (f *Fault) ToClient() bool { return f.Asked.Direction == ToClient }

// OnSetReplies reports whether the fault affects replies to SETs.
func (f *Fault) OnSetReplies() bool {
	return f.Asked.Part == PartReply && (f.Asked.Command == Take || f.Asked.Command == "SET")
}

// Phase of a fault. A fault without a duration (kill, flush, jump) is an Instant; others have a Begin and an End.
type Phase string

// The phases of a fault.
const (
	PhaseBegin   Phase = "begin"
	PhaseEnd     Phase = "end"
	PhaseInstant Phase = "instant"
)

// Node is the state of a node, read directly: at the start and end of the run, after each start, and before each kill.
type Node struct {
	Up    bool   `json:"up"`
	RunID string `json:"run_id,omitempty"`
	// Keys are the lock keys present: key to owner's token.
	Keys map[string]KeyState `json:"keys,omitempty"`
	// Replication is set if the cluster has replicas.
	Replication *Replication `json:"replication,omitempty"`
}

// Replication is a server's INFO replication.
type Replication struct {
	Role Role `json:"role"`
	// Linked reports whether a replica is connected to its master and has its data.
	Linked bool `json:"linked,omitempty"`
	// History identifies the sequence of writes that Offset counts, in bytes: a replica whose two values equal its
	// master's has every write.
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

// KeyState is one key on a node. TTL is in nanoseconds on the node's clock; -1: no expiry.
type KeyState struct {
	Token string `json:"token"`
	TTL   int64  `json:"ttl"`
}

// Clock is a process's clock from Time on: its reading at Time, in nanoseconds since the run began as that clock
// counts them, and the number of its nanoseconds per true one. A client has two clocks; Wall: this is its wall clock.
// A node has only a wall clock.
type Clock struct {
	Reading int64   `json:"reading"`
	Rate    float64 `json:"rate"`
	Wall    bool    `json:"wall"`
}
