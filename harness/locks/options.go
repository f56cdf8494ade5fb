package locks

import (
	"errors"
	"fmt"
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

// Settings are the options that do not depend on the TTL: scenarios set them as they are.
type Settings struct {
	// MaxExtensions bounds how often one lease is extended.
	MaxExtensions int `json:"max_extensions"`
	// Wait is for how many replicas an acquire waits, by WAIT, before it counts;
	// Connection says on which connection it does.
	Wait int `json:"wait,omitempty"`
	// WaitAOF: it waits, by WAITAOF in place of WAIT, until its server has the key on its
	// disk, and so many replicas on theirs.
	WaitAOF    bool       `json:"wait_aof,omitempty"`
	Connection Connection `json:"connection,omitempty"`
	// Resends is how often the client library sends a command again that was not answered.
	Resends int `json:"resends,omitempty"`
	// Pool is how many connections the client library has to each server; 0: more than
	// are needed.
	Pool int `json:"pool,omitempty"`
}

// WaitsForReplicas says whether an acquire waits for more than its server's answer.
func (s Settings) WaitsForReplicas() bool { return s.Wait > 0 || s.WaitAOF }

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

// requireValidOptions makes of a lock's constructor one that fills in the defaults and
// refuses what every lock must refuse.
func requireValidOptions(k Kind) func(Env) (Lock, error) {
	build := k.New
	return func(env Env) (Lock, error) {
		env.Options = env.Options.WithDefaults()
		if env.TTL < time.Millisecond {
			return nil, RefusalError("a TTL of %s: Redis counts expiry in milliseconds, so 1ms or more is right", env.TTL)
		}
		if env.RetryMax < env.RetryMin { // of spans that are not both in TTLs
			return nil, RefusalError("a retry delay from %s to %s: the first must not be above the second",
				env.RetryMin, env.RetryMax)
		}
		if len(env.Nodes) == 0 {
			return nil, RefusalError("no nodes: the lock %s needs at least one", k.Name)
		}
		for _, rule := range env.Without {
			if err := k.CheckRule(rule); err != nil {
				return nil, &Error{Reason: history.ReasonRefused, Err: err}
			}
		}
		return build(env)
	}
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
