package locks

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
)

// Lock is a lock under test, as one client sees it.
type Lock interface {
	// Acquire takes key for the lock's TTL, with the lock's own retries, until
	// ctx ends. A failure is an *Error wherever the lock can tell why.
	Acquire(ctx context.Context, key string) (Lease, error)
	// Close ends what the lock still does in the background and waits for it.
	Close() error
}

// Lease is what an Acquire grants, as its client believes it.
type Lease interface {
	// Token is the value stored at the key.
	Token() string
	// Fence is the fencing token, 0 if the lock issues none.
	Fence() int64
	// Validity is for how much longer the client believes that it holds the
	// lock, on its own clock; not positive once it is over.
	Validity() time.Duration
	// Extend prolongs the lease by the lock's TTL from now.
	Extend(ctx context.Context) error
	// Watch keeps the lease extended in the background and ends the context it
	// returns before validity does. It extends by calling extend, which calls
	// Extend: so each extension is in the history as it is made. Locks without a
	// watchdog return nil.
	Watch(ctx context.Context, extend func(context.Context) error) context.Context
	// Release gives the lock back.
	Release(ctx context.Context) error
}

// Watchable is a lease that tells by itself when it is over, from the grant on: its
// context ends then. The client writes that down without having asked for a Watch.
type Watchable interface {
	Context() context.Context // nil: it does not tell
}

// Described is a lock that finds out by its first lease what it can do.
type Described interface {
	Describe() *Abilities
}

// Error is a failed operation with its reason, one of history's Reason
// constants.
type Error struct {
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Options say how a lock is to be set up. Locks ignore what they do not have.
type Options struct {
	TTL time.Duration `json:"ttl"`
	// MaxTTL is the longest TTL of any client, where some have one of their own.
	MaxTTL time.Duration `json:"longest_ttl,omitempty"`
	// NodeTimeout bounds one command to one node.
	NodeTimeout time.Duration `json:"node_timeout"`
	// Drift is the part of the TTL set aside for clock drift.
	Drift float64 `json:"drift"`
	// Tries is how many attempts one acquire makes; 0: until its context ends.
	Tries int `json:"tries"`
	// RetryMin and RetryMax bound the random delay between attempts.
	RetryMin time.Duration `json:"retry_min"`
	RetryMax time.Duration `json:"retry_max"`
	Settings
	// ContextTimeouts and NoRetries bind the go-redis clients that a lock makes of its own:
	// they keep to the deadline of a context, and send nothing again.
	ContextTimeouts bool `json:"context_timeouts,omitempty"`
	NoRetries       bool `json:"no_retries,omitempty"`
	// Without names the redlock rules to switch off.
	Without []string `json:"without,omitempty"`
}

// LongestTTL is that of all clients.
func (o Options) LongestTTL() time.Duration { return max(o.TTL, o.MaxTTL) }

// Env is what a lock is made from.
type Env struct {
	// Nodes are clients of the lock's servers with options of the harness's: no
	// retries, many connections, timeouts that bind. Each is a *redis.Client of one
	// server, or all are a *redis.ClusterClient of the same Redis Cluster.
	Nodes []redis.UniversalClient
	// Network is for a lock that makes its own clients.
	Network
	Clock redlock.Clock // the client's own, skewed with the client
	Rand  io.Reader     // where tokens and jitter come from
	// NoPipelining: each command must go by itself. In virtual time it would be up to
	// the scheduler which of one instant's commands share a pipeline.
	NoPipelining bool
	Options
}

// Kind is one lock under test.
type Kind struct {
	Name string
	Doc  string // one line, for the user
	New  func(Env) (Lock, error)
	Abilities
	Rules        bool // Options.Without applies
	RestartGuard bool // one of these rules is about restarts
	Majority     bool // it says that it takes a key on most of the nodes
	External     bool // it connects by itself to the servers that it is given, and asks no Sentinels
	Program      bool // its clients are processes of another program, which speak the workers' protocol
	Waits        bool // it waits for replicas and disks where Options.Wait and WaitAOF say so
	Failover     bool // it is given a primary with its replicas, and is on the primary
	// WarmUp says for how long its servers must have been up before it works as it
	// does every day; nil: it does so at once.
	WarmUp func(Options) time.Duration
	// LeavesBehind are the packages whose goroutines run on when its client has ended.
	LeavesBehind []string
	// Err is why no scenario can be run with it; nil: they can.
	Err error
}

// CheckRule says why a rule of the reference cannot be switched off: the lock does not have
// it, so that nothing would change. nil: it can.
func (k Kind) CheckRule(rule string) error {
	switch {
	case !k.Rules:
		return fmt.Errorf("%s has no rules to switch off: --lock %s has them", k.Name, Reference)
	case rule == string(redlock.RestartGuard) && !k.RestartGuard:
		return fmt.Errorf("%s has no restart guard to switch off: --lock %s has one", k.Name, Guarded)
	}
	return nil
}

// KeyPlaceholder stands for a key in the names that it has on the servers.
const KeyPlaceholder = "{key}"

// Feature names what a lock may do without.
type Feature string

// What a lock may do without.
const (
	FeatureExtend Feature = "extend"
	FeatureWatch  Feature = "watch"
	FeatureFence  Feature = "fence"
	FeatureClock  Feature = "clock"  // a clock that can be set for one client
	FeatureCancel Feature = "cancel" // an acquire that its caller can call off
	// FeatureThreads: two operations of one client at once.
	FeatureThreads Feature = "threads"
)

// Features lists all of them.
var Features = []Feature{FeatureExtend, FeatureWatch, FeatureFence, FeatureClock, FeatureCancel, FeatureThreads}

// Abilities are what a lock can do beyond acquire and release. A first lease may have to
// show it.
type Abilities struct {
	// Name is what a lock of another program calls itself.
	Name string `json:"name,omitempty"`
	// Fencing: it issues fencing tokens.
	Fencing bool `json:"fencing,omitempty"`
	// OwnClock: it reads time only through Env.Clock, so a client's skew reaches it.
	OwnClock bool `json:"own_clock,omitempty"`
	// Extends: it can extend a lease. Watches: it has a watchdog that does so.
	Extends bool `json:"extends,omitempty"`
	Watches bool `json:"watches,omitempty"`
	// SingleNode: it uses the first node only.
	SingleNode bool `json:"single_node,omitempty"`
	// Servers is on how many it is, of several; 0: on as many as it is given.
	Servers int `json:"servers,omitempty"`
	// Threads: a client of a Program carries out commands of several threads at once; others do.
	Threads bool `json:"threads,omitempty"`
	// Renews: it keeps each lease extended by itself from the grant on.
	Renews bool `json:"renews,omitempty"`
	// Belief says in words how long its clients believe in a lease, and who says
	// so, where that is not the lock's own validity; "" otherwise.
	Belief string `json:"belief,omitempty"`
	// Keys are the names that a key has on the servers, with KeyPlaceholder in place of the
	// name that callers have for it; none: the lock does not say.
	Keys []string `json:"keys,omitempty"`
	// Notices are what was noticed of it by its first lease, for its user.
	Notices []string `json:"notices,omitempty"`
	// Unsupported says in the lock's own words why it has not what scenarios need.
	Unsupported map[Feature]string `json:"lacks,omitempty"`
}

// registry holds every Kind by name.
var (
	registryMu sync.RWMutex
	registry   = map[string]Kind{}
)

// Register adds a lock under test, or replaces the one of that name, before any run
// with it begins: each lock's file does so.
func Register(k Kind) {
	k.New = requireValidOptions(k)
	registryMu.Lock()
	defer registryMu.Unlock()
	registry[k.Name] = k
}

// Reference is the name of the lock that scenarios use unless they say otherwise.
const Reference = "redlock"

// Fenced is the name of the reference that issues fencing tokens.
const Fenced = "redlock-fenced"

// Guarded is the name of the reference with a restart guard.
const Guarded = "redlock-guarded"

// Names lists the locks under test, sorted.
func Names() []string {
	registryMu.RLock()
	defer registryMu.RUnlock()
	return slices.Sorted(maps.Keys(registry))
}

// Find returns the lock of that name.
func Find(name string) (Kind, error) {
	registryMu.RLock()
	k, ok := registry[name]
	registryMu.RUnlock()
	if !ok {
		return Kind{}, fmt.Errorf("no lock named %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return k, nil
}
