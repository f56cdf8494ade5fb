package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// Scenario is one file: a cluster, clients, faults, and expected verdicts.
type Scenario struct {
	Name   string
	Title  string   // one line
	Source []string // evidence: "Kleppmann 2016, ..."
	Lesson string   // at most three sentences for a student
	On     []string // supported clusters

	TTL             time.Duration // default 1s
	MinTTL          time.Duration // it shows nothing at a shorter one; 0: no minimum
	Nodes           []string      // n1..nN
	MultiNodeReason string        // why single-node locks skip it, "" for none
	Aliases         map[string]string
	Replicas        map[string]string // r1..rN, each with its master
	Sentinels       int               // of n1 and its replicas
	// RedisCluster makes the nodes the masters of one Redis Cluster; nil: the nodes are independent.
	RedisCluster *RedisCluster
	Persistence  cluster.Persistence
	Redis        map[string]string // extra lines of the nodes' redis.conf
	Restart      Restart
	Delay        Span // one-way delay of every link
	Lock         Lock
	Store        StoreCheck
	Clients      []Client
	Script       []Step
	Workload     *Workload
	Nemesis      []Random
	Bounds       Bounds
	Earned       Earned
	Expect       map[string]string // property to verdict
	Variants     []Variant

	File string // its path
}

// Lock names the lock under test and its options; zero values are defaults.
type Lock struct {
	Name        string
	NodeTimeout Span
	Drift       *float64
	Tries       int
	RetryMin    Span
	RetryMax    Span
	locks.Settings
}

// Options returns the lock's options at a TTL.
func (l Lock) Options(ttl time.Duration) locks.Options {
	o := locks.Options{TTL: ttl, NodeTimeout: l.NodeTimeout.In(ttl), Tries: l.Tries, RetryMin: l.RetryMin.In(ttl),
		RetryMax: l.RetryMax.In(ttl), Settings: l.Settings}
	if l.Drift != nil {
		o.Drift = *l.Drift
	}
	return o
}

// StoreCheck is the guarded store's check before it accepts a write.
type StoreCheck string

// CheckFence rejects a fencing token older than that of any read or write, CheckFenceWrites one older than that of any
// write. CheckCompare rejects a write derived from another version than the current one.
const (
	CheckNone        StoreCheck = "none"
	CheckFence       StoreCheck = "fence"
	CheckFenceWrites StoreCheck = "fence-writes"
	CheckCompare     StoreCheck = "compare"
)

// Fenced reports whether the store checks fencing tokens.
func (c StoreCheck) Fenced() bool { return c == CheckFence || c == CheckFenceWrites }

// Client is one client.
type Client struct {
	Name      string
	Reach     []string // the nodes that it reaches from the start; none: all
	Nodes     []string // the configured servers of its lock; none: all
	FarNodes  []string // nodes with an extra one-way delay of FarDelay
	FarDelay  Span
	TTL       Span   // its own TTL; 0: the scenario's
	Wait      *int   // the number of replicas that it waits for; nil: the lock's
	KeyPrefix string // which its version of the lock adds to each key
}

// Workload is a set of clients in closed loops that run beside the script.
type Workload struct {
	Clients int // w1..wN
	Threads int // per client; they share its lock
	Keys    int
	For     Span
	Hold    Span
	Think   Span
}

// Random is a kind of fault in a seeded schedule: after each Every, it affects Count of its targets for Lasts.
type Random struct {
	Step
	Count int
	Every Range
	Lasts Range
}

// Range is the range of a uniform distribution.
type Range struct{ Min, Max Span }

// Bounds replace default bounds of the liveness properties, by the names of history.BoundNames.
type Bounds map[string]Span

// Earned has the minimum counts without which a verdict is vacuous. Nil fields are defaults.
type Earned struct {
	Grants, Contended, Faults, Writes, Refused *int
}

// Variant is a change of the scenario: a rule switched off, another lock, another setting. Expect replaces the
// scenario's verdicts of the properties that it names.
type Variant struct {
	Name        string // default: "without RULE", or made of other changes
	Nodes       int    // 1: all nodes are n1; 0: the scenario's
	Without     []string
	Lock        *Lock
	Store       StoreCheck // "": the scenario's
	Persistence cluster.Persistence
	Redis       map[string]string // nil: the scenario's
	Workload    *Workload         // replaces the scenario's, with as many clients
	Script      []Step            // replaces the scenario's
	Bounds      Bounds            // nil: the scenario's
	Earned      *Earned
	Expect      map[string]string
}

// Verb is the action of a script's step.
type Verb string

// The verbs other than faults. Package nemesis declares the faults. Usages describes both.
const (
	VerbAcquire        Verb = "acquire"
	VerbExtend         Verb = "extend"
	VerbRelease        Verb = "release"
	VerbCheck          Verb = "check"
	VerbRead           Verb = "read"
	VerbWrite          Verb = "write"
	VerbWatch          Verb = "watch"
	VerbCancel         Verb = "cancel"
	VerbAwait          Verb = "await"
	VerbWait           Verb = "wait"
	VerbUntil          Verb = "until"
	VerbAwaitExpiry    Verb = "await-expiry"
	VerbAwaitSync      Verb = "await-sync"
	VerbAwaitPromotion Verb = "await-promotion"
)

// Step is one line of a script: a verb with its targets (clients, nodes, or links such as c1-n3) and modifiers.
type Step struct {
	Verb    Verb
	Targets []string

	Key      string   // acquire, read, write: default "k1"
	To       string   // migrate-slot
	Mistake  string   // migrate-slot
	Thread   string   // client verbs: a thread, which shares the client's lock; "": the first
	Reaching []string // acquire: the nodes that the client reaches from then on
	Async    bool     // client verbs: do not wait for the outcome
	IfHeld   bool     // verbs about a lease: skip the step without one
	// IfSupported: extend: a lock that cannot extend a lease runs the script without this step.
	IfSupported bool
	Must        string // client verbs, await: the required outcome, ok or fail; any other makes the trial inconclusive
	Within      Span   // acquire, extend, release: the caller's deadline; until, await-sync, await-promotion: timeout
	For         Span   // faults: the duration
	Wait        Span   // wait
	After       Span   // kill, shutdown, power-loss: the time until the restart

	Of    string // hold, lose, drop, until: the command
	Part  history.Part
	Times int
	// EachMessage: faults of clients: the fault begins at a message of the client's next operation; one trial for each
	EachMessage bool
	Direction   history.Direction // cut, delay
	By          Span              // delay, slow-fsync
	Jump        Span              // clock
	Rate        float64           // clock
	Has         string            // until: received or answered

	Line, Column int
}

// Span is a duration in TTLs, in units of time, or a sum of both: "1.2 ttl", "50ms", "1 ttl + 50ms".
type Span struct {
	TTLs  float64
	Fixed time.Duration
}

// In returns the duration at a TTL.
func (s Span) In(ttl time.Duration) time.Duration {
	return time.Duration(s.TTLs*float64(ttl)) + s.Fixed
}

// IsZero reports whether the span is not set.
func (s Span) IsZero() bool { return s == Span{} }

// String returns the span in the format of scenario files.
func (s Span) String() string {
	ttls := strconv.FormatFloat(s.TTLs, 'f', -1, 64) + " ttl"
	switch {
	case s.TTLs == 0:
		return s.Fixed.String()
	case s.Fixed == 0:
		return ttls
	case s.Fixed < 0:
		return ttls + " - " + strings.TrimPrefix(s.Fixed.String(), "-")
	default:
		return ttls + " + " + s.Fixed.String()
	}
}

// Servers lists the nodes, then their replicas.
func (s *Scenario) Servers() []string {
	return append(slices.Clone(s.Nodes), slices.Sorted(maps.Keys(s.Replicas))...)
}

// Find returns the variant of a name; "" is the unchanged scenario.
func (s *Scenario) Find(variant string) (Variant, error) {
	for _, v := range s.Variants {
		if v.Name == variant {
			return v, nil
		}
	}
	if variant == "" {
		return Variant{}, nil
	}
	return Variant{}, fmt.Errorf("scenario %s has no variant %q", s.Name, variant)
}

// With returns the scenario with a variant's changes, except for Without, which concerns the lock.
func (s *Scenario) With(v Variant) *Scenario {
	c := *s
	replace(&c.Lock, v.Lock)
	replace(&c.Earned, v.Earned)
	c.Store = cmp.Or(v.Store, s.Store)
	c.Persistence = cmp.Or(v.Persistence, s.Persistence)
	c.Workload = cmp.Or(v.Workload, s.Workload)
	if v.Redis != nil {
		c.Redis = v.Redis
	}
	if v.Bounds != nil {
		c.Bounds = v.Bounds
	}
	if v.Script != nil {
		c.Script = v.Script
	}
	c.Expect = map[string]string{}
	maps.Copy(c.Expect, s.Expect)
	maps.Copy(c.Expect, v.Expect)
	if v.Nodes == 1 {
		first := nodeMapping{}
		for _, node := range s.Nodes {
			first[node] = "n1"
		}
		return c.merged(first)
	}
	return &c
}

func replace[T any](of, by *T) {
	if by != nil {
		*of = *by
	}
}
