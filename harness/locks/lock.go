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

// Lock is one client's instance of a lock under test.
type Lock interface {
	// Acquire acquires key for the lock's TTL, with the lock's own retries, until ctx ends. A failure with a known
	// reason is an *Error.
	Acquire(ctx context.Context, key string) (Lease, error)
	// Close stops the lock's background work and waits for it.
	Close() error
}

// Lease is the result of a successful Acquire, in its client's view.
type Lease interface {
	// Token is the value stored at the key.
	Token() string
	// Fence is the fencing token, 0 if the lock issues none.
	Fence() int64
	// Validity is the remaining time in which the client relies on the lease, by its own clock; 0 or less once it is
	// over.
	Validity() time.Duration
	// Extend prolongs the lease by the lock's TTL from now.
	Extend(ctx context.Context) error
	// Release releases the lock.
	Release(ctx context.Context) error
}

// Watchdog is a lease of a lock with a watchdog. Watch extends the lease in the background and returns a context that
// ends before validity does. It calls extend, which calls Extend, so that each extension is in the history.
type Watchdog interface {
	Watch(ctx context.Context, extend func(context.Context) error) context.Context
}

// Contextual is a lease with a context that ends with it, from the grant on. The client records that end without a
// Watch.
type Contextual interface {
	Context() context.Context // nil: none
}

// Renewing is a lease that the lock may extend by itself. The client then reads its validity again when it ends.
type Renewing interface {
	Renews() bool
}

// Described is a lock whose first lease shows its abilities.
type Described interface {
	Describe() *Abilities
}

// Error is a failed operation with its reason, one of history's Reason constants.
type Error struct {
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Options configure a lock. Locks ignore options that they do not have.
type Options struct {
	TTL time.Duration `json:"ttl"`
	// MaxTTL is the longest TTL of any client; 0 if all have TTL.
	MaxTTL time.Duration `json:"longest_ttl,omitempty"`
	// NodeTimeout bounds one command to one node.
	NodeTimeout time.Duration `json:"node_timeout"`
	// Drift is the part of the TTL reserved for clock drift.
	Drift float64 `json:"drift"`
	// Tries bounds the attempts of one acquire; 0: until its context ends.
	Tries int `json:"tries"`
	// RetryMin and RetryMax bound the random delay between attempts.
	RetryMin time.Duration `json:"retry_min"`
	RetryMax time.Duration `json:"retry_max"`
	Settings
	// ContextTimeouts makes the go-redis clients that a lock makes respect context deadlines. NoRetries disables their
	// retries.
	ContextTimeouts bool `json:"context_timeouts,omitempty"`
	NoRetries       bool `json:"no_retries,omitempty"`
	// Belief replaces a Go test's own (locktest.Belief), in virtual time.
	Belief string `json:"-"`
	// Without names the redlock rules to switch off.
	Without []string `json:"without,omitempty"`
}

// LongestTTL is the longest TTL of all clients.
func (o Options) LongestTTL() time.Duration { return max(o.TTL, o.MaxTTL) }

// Env is the environment of a lock.
type Env struct {
	// Nodes are clients of the lock's servers with the harness's options: no retries, many connections, context
	// deadlines respected. Each is a *redis.Client of one server, or all are *redis.ClusterClient of the same Redis
	// Cluster.
	Nodes []redis.UniversalClient
	// Network is for a lock that makes its own clients.
	Network
	Clock redlock.Clock // the client's own, skewed with the client
	Rand  io.Reader     // the source of tokens and jitter
	// NoPipelining: each command must be sent alone. In virtual time the scheduler would decide which commands of one
	// instant share a pipeline.
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
	Majority     bool // it declares that an acquire needs a majority of the nodes
	External     bool // it connects to its servers by itself, without Sentinels
	Program      bool // its clients are processes of another program, which speak the workers' protocol
	Waits        bool // it waits for replicas and disks as Options.Wait and WaitAOF require
	Failover     bool // it uses the primary among a primary and its replicas
	// WarmUp is the uptime of its servers that it needs before normal operation; nil: none.
	WarmUp func(Options) time.Duration
	// LeavesBehind are the packages whose goroutines may outlive its client.
	LeavesBehind []string
	// Err is why no scenario can run with it; nil: they can.
	Err error
}

// CheckRule returns an error if the lock does not have a rule of the reference, so that switching it off would change
// nothing.
func (k Kind) CheckRule(rule string) error {
	switch {
	case !k.Rules:
		return fmt.Errorf("%s has no rules to switch off: --lock %s has them", k.Name, Reference)
	case rule == string(redlock.RestartGuard) && !k.RestartGuard:
		return fmt.Errorf("%s has no restart guard to switch off: --lock %s has one", k.Name, Guarded)
	}
	return nil
}

// KeyPlaceholder stands for the caller's key in a key's name on the servers.
const KeyPlaceholder = "{key}"

// Feature is an optional feature of a lock.
type Feature string

// The optional features.
const (
	FeatureExtend Feature = "extend"
	FeatureWatch  Feature = "watch"
	FeatureFence  Feature = "fence"
	FeatureClock  Feature = "clock"  // a clock that can be set for one client
	FeatureCancel Feature = "cancel" // an acquire that its caller can cancel
	// FeatureThreads: two operations of one client at once.
	FeatureThreads Feature = "threads"
)

// Features lists all of them.
var Features = []Feature{FeatureExtend, FeatureWatch, FeatureFence, FeatureClock, FeatureCancel, FeatureThreads}

// Abilities are a lock's abilities beyond acquire and release. Some show only in its first lease.
type Abilities struct {
	// Name is the name in another program's hello.
	Name string `json:"name,omitempty"`
	// Fencing: it issues fencing tokens.
	Fencing bool `json:"fencing,omitempty"`
	// OwnClock: it reads time only through Env.Clock, so a client's skew reaches it.
	OwnClock bool `json:"own_clock,omitempty"`
	// Extends: it can extend a lease. Watches: it has a watchdog for that.
	Extends bool `json:"extends,omitempty"`
	Watches bool `json:"watches,omitempty"`
	// SingleNode: it uses the first node only.
	SingleNode bool `json:"single_node,omitempty"`
	// Servers is the number of servers that it uses; 0: all.
	Servers int `json:"servers,omitempty"`
	// Threads: a client of a Program executes commands of several threads at once. Other locks' clients always do.
	Threads bool `json:"threads,omitempty"`
	// Renews: it extends each lease by itself from the grant on.
	Renews bool `json:"renews,omitempty"`
	// Belief describes how long its clients rely on a lease, and why; "" if the lease reports its validity.
	Belief string `json:"belief,omitempty"`
	// Keys are the names of a key on the servers, with KeyPlaceholder for the caller's name; none: unknown.
	Keys []string `json:"keys,omitempty"`
	// Notices are hints for its user, from its first lease.
	Notices []string `json:"notices,omitempty"`
	// Unsupported has the lock's own reasons for missing features.
	Unsupported map[Feature]string `json:"lacks,omitempty"`
}

// registry has every Kind by name.
var (
	registryMu sync.RWMutex
	registry   = map[string]Kind{}
)

// Register adds a lock under test, or replaces the one of that name. Call it before any run with the lock begins.
func Register(k Kind) {
	k.New = requireValidOptions(k)
	registryMu.Lock()
	defer registryMu.Unlock()
	registry[k.Name] = k
}

// Reference is the name of the default lock in scenarios.
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
