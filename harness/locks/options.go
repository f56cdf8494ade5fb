package locks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/redlock"
)

// Connection says on which connection a lock sends WAIT or WAITAOF.
type Connection string

// The connections. WAIT counts the replicas that have the writes of its own
// connection (source: redis.io, WAIT): on another one, which has written nothing,
// every replica has. WAITAOF counts likewise whose disks have them (redis.io, WAITAOF).
const (
	ConnectionOne  Connection = "one"  // the SET's
	ConnectionPool Connection = "pool" // the next of the pool
)

// WithDefaults fills what is not set. The defaults suit TTLs from 20 ms to
// minutes:
//   - NodeTimeout is 5 % of the TTL, between 20 ms and 100 ms: redis.io's page
//     wants it small against the TTL ("~5-50 milliseconds" for 10 s), and below
//     20 ms a busy machine makes timeouts of its own; but half the TTL at most;
//   - Drift is 0.01, the value of the page's reference implementation;
//   - RetryMin and RetryMax are 5 % and 15 % of the TTL: a waiting client asks
//     some ten times in each TTL, and the spread between the two is far wider than
//     a round trip, so that clients that collided once part;
//   - MaxExtensions is 100.
//
// Tries stays 0: until the context ends.
func (o Options) WithDefaults() Options {
	if o.NodeTimeout == 0 {
		o.NodeTimeout = min(max(o.TTL/20, 20*time.Millisecond), 100*time.Millisecond, o.TTL/2)
	}
	if o.Drift == 0 {
		o.Drift = redlock.DefaultDrift
	}
	if o.RetryMin == 0 {
		o.RetryMin = o.TTL / 20
	}
	if o.RetryMax == 0 {
		o.RetryMax = max(o.RetryMin, o.TTL*3/20)
	}
	if o.MaxExtensions == 0 {
		o.MaxExtensions = 100
	}
	return o
}

// check refuses options that no lock could work with.
func (o Options) check() error {
	switch {
	case o.TTL < time.Millisecond:
		return RefusalError("a TTL of %s: Redis counts expiry in milliseconds, so 1ms or more is right", o.TTL)
	case o.NodeTimeout < 0:
		return RefusalError("a node timeout of %s: it must be above 0", o.NodeTimeout)
	case o.Drift < 0 || o.Drift >= 1:
		return RefusalError("a drift factor of %g: it is a part of the TTL, from 0 to below 1", o.Drift)
	case o.Tries < 0:
		return RefusalError("%d tries: 0 tries until the context ends, 1 or more is a limit", o.Tries)
	case o.RetryMin < 0 || o.RetryMax < o.RetryMin:
		return RefusalError("a retry delay from %s to %s: the first must not be below 0 nor above the second", o.RetryMin,
			o.RetryMax)
	case o.MaxExtensions < 0:
		return RefusalError("%d extensions at most: it must be above 0", o.MaxExtensions)
	case o.Resends < 0:
		return RefusalError("%d resends of a command: it must be 0 or more", o.Resends)
	case o.Pool < 0:
		return RefusalError("a pool of %d connections: it must be 0 or more", o.Pool)
	case o.Wait < 0:
		return RefusalError("a wait for %d replicas: it must be 0 or more", o.Wait)
	case !slices.Contains([]Connection{"", ConnectionOne, ConnectionPool}, o.Connection):
		return RefusalError("there is no connection %q: there are %s and %s", o.Connection, ConnectionOne, ConnectionPool)
	}
	return nil
}

// requireValidOptions makes of a lock's constructor one that fills in the defaults and
// refuses what every lock must refuse.
func requireValidOptions(k Kind) func(Env) (Lock, error) {
	build := k.New
	return func(env Env) (Lock, error) {
		env.Options = env.Options.WithDefaults()
		if err := env.Options.check(); err != nil {
			return nil, err
		}
		if len(env.Nodes) == 0 {
			return nil, RefusalError("no nodes: the lock %s needs at least one", k.Name)
		}
		if len(env.Without) > 0 && !k.Rules {
			return nil, RefusalError("the lock %s has no rules to switch off (asked: %s); those with rules: %s",
				k.Name, strings.Join(env.Without, ", "), strings.Join(withRules(), ", "))
		}
		return build(env)
	}
}

func withRules() []string {
	var names []string
	for _, n := range Names() {
		if k, err := Find(n); err == nil && k.Rules {
			names = append(names, n)
		}
	}
	return names
}

// RefusalError is why a lock does not take a setup.
func RefusalError(format string, args ...any) error {
	return &Error{Reason: history.ReasonRefused, Err: fmt.Errorf(format, args...)}
}

// Reason gives the reason of a failed operation: other where the lock could
// not tell.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return history.ReasonOther
}
