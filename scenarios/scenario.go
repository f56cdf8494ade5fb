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

// Scenario is one file: a cluster, clients, what goes wrong, and what to expect.
type Scenario struct {
	Name   string
	Title  string   // one line
	Source []string // where the evidence is: "Kleppmann 2016, ..."
	Lesson string   // three sentences or fewer, for a student
	On     []string // clusters it runs on

	TTL    time.Duration // default 1s
	MinTTL time.Duration // it shows nothing at a shorter one; 0: it does at any
	Nodes  []string      // n1..nN
	// why a lock on one node has no part in it; "": it has a form for one, or nothing is said
	MultiNodeReason string
	Aliases         map[string]string
	Replicas        map[string]string // r1..rN, each with its master
	Sentinels       int               // how many watch n1 and its replicas
	// RedisCluster makes the nodes the masters of one; nil: they know nothing of one another.
	RedisCluster *RedisCluster
	Persistence  cluster.Persistence
	Redis        map[string]string // further lines of the nodes' redis.conf
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

	File string // where it was read from
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

// Options are the lock's at a TTL.
func (l Lock) Options(ttl time.Duration) locks.Options {
	o := locks.Options{TTL: ttl, NodeTimeout: l.NodeTimeout.In(ttl), Tries: l.Tries, RetryMin: l.RetryMin.In(ttl),
		RetryMax: l.RetryMax.In(ttl), Settings: l.Settings}
	if l.Drift != nil {
		o.Drift = *l.Drift
	}
	return o
}

// StoreCheck is what the guarded store checks before it accepts a write.
type StoreCheck string

// The checks: none; the fencing token must not be older than one that came with
// a read or a write, or with a write alone; or the version that the write was
// derived from must be the present one.
const (
	CheckNone        StoreCheck = "none"
	CheckFence       StoreCheck = "fence"
	CheckFenceWrites StoreCheck = "fence-writes"
	CheckCompare     StoreCheck = "compare"
)

// Fenced reports whether the check is one of fencing tokens.
func (c StoreCheck) Fenced() bool { return c == CheckFence || c == CheckFenceWrites }

// Client is one client. Reach lists the nodes that it reaches from the start
// (all if empty); Nodes, the lock's servers as this client is configured (all
// if empty); Far, the nodes that are far from it, at its FarDelay one way.
type Client struct {
	Name     string
	Reach    []string
	Nodes    []string
	FarNodes []string
	FarDelay Span
	TTL      Span // its own TTL; 0: the scenario's
	Wait     *int // for how many replicas it waits; nil: as the lock says
	// KeyPrefix is what its version of the lock puts before the name of each key.
	KeyPrefix string
}

// Workload is a set of clients in closed loops, beside the script.
type Workload struct {
	Clients int // w1..wN
	Threads int // of each client, which share its lock
	Keys    int
	For     Span
	Hold    Span
	Think   Span
}

// Random is one kind of fault in a seeded schedule: a step that happens every so often, for so
// long, to Count at once of its targets.
type Random struct {
	Step
	Count int
	Every Range
	Lasts Range
}

// Range is drawn from uniformly.
type Range struct{ Min, Max Span }

// Bounds are those of the liveness properties that are not the default, by the names of history.BoundNames.
type Bounds map[string]Span

// Earned is what must have happened for a "holds" to mean anything. Nil fields
// are defaults.
type Earned struct {
	Grants, Contended, Faults, Writes, Refused *int
}

// Variant is the scenario with something changed: a rule switched off, another
// lock, another setting. Expect replaces the scenario's for the properties it
// names.
type Variant struct {
	Name        string // default: "without RULE", or from what is set
	Nodes       int    // 1: what is said of any node is said of n1; 0: as the scenario has it
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

// Verb is what a step of a script does.
type Verb string

// The verbs that are no faults. Usages holds what each takes, and those of the
// faults that package nemesis declares.
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
	VerbAwaitSync      Verb = "await-sync"
	VerbAwaitPromotion Verb = "await-promotion"
)

// Step is one line of a script: a verb with its targets (clients, nodes, or
// links such as c1-n3), and modifiers that the verb allows.
type Step struct {
	Verb    Verb
	Targets []string

	Key      string   // acquire, read, write: default "k1"
	To       string   // migrate-slot
	Mistake  string   // migrate-slot
	Thread   string   // client verbs: which of those that share the client's lock; "": the first
	Reaching []string // acquire: from here on the client reaches only these
	Async    bool     // client verbs: do not wait for the outcome
	IfHeld   bool     // client verbs about a lease: nothing, if the client holds none
	Must     string   // client verbs, await: ok or fail, or the trial proves nothing
	Within   Span     // acquire, extend, release: the caller's deadline; until, await-sync, await-promotion: patience
	For      Span     // faults: end by themselves after this long
	Wait     Span     // wait; After: kill, shutdown and power-loss start again after this long
	After    Span

	Of        string // hold, lose, drop, until: the command
	Part      history.Part
	Times     int
	Direction history.Direction // cut, delay
	By        Span              // delay, slow-fsync
	Jump      Span              // clock
	Rate      float64           // clock
	Has       string            // until: received or answered

	Line, Column int
}

// Span is a duration given in TTLs, in units of time, or as the sum of both:
// "1.2 ttl", "50ms", "1 ttl + 50ms".
type Span struct {
	TTLs  float64
	Fixed time.Duration
}

// In gives the duration at a TTL.
func (s Span) In(ttl time.Duration) time.Duration {
	return time.Duration(s.TTLs*float64(ttl)) + s.Fixed
}

// IsZero reports whether the span is not set.
func (s Span) IsZero() bool { return s == Span{} }

// String writes the span as a scenario file does.
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

// Servers lists the nodes, and then their replicas.
func (s *Scenario) Servers() []string {
	return append(slices.Clone(s.Nodes), slices.Sorted(maps.Keys(s.Replicas))...)
}

// Find returns the variant of that name; "" is the scenario as it stands.
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

// With returns the scenario with a variant's changes applied, but for the rules
// that the variant switches off: those are the lock's.
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
		first := places{}
		for _, node := range s.Nodes {
			first[node] = "n1"
		}
		return c.merged(first)
	}
	return &c
}

// replace sets what a variant has of its own.
func replace[T any](of, by *T) {
	if by != nil {
		*of = *by
	}
}
