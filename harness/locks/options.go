package locks

import (
	"errors"
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/redlock"
)

// Connection is the connection on which a lock sends WAIT or WAITAOF.
type Connection string

// The connections. WAIT counts the replicas that have the writes of its own connection (source: redis.io, WAIT). On
// another connection, without writes, it counts every replica. WAITAOF counts disks in the same way (redis.io,
// WAITAOF).
const (
	ConnectionOne  Connection = "one"  // the SET's
	ConnectionPool Connection = "pool" // the next of the pool
)

// Settings are the options that do not depend on the TTL.
type Settings struct {
	// MaxExtensions bounds the extensions of one lease.
	MaxExtensions int `json:"max_extensions"`
	// Wait is the number of replicas that an acquire waits for, by WAIT on Connection.
	Wait int `json:"wait,omitempty"`
	// WaitAOF: an acquire uses WAITAOF instead, and waits until the disks of its server and of Wait replicas have the
	// key.
	WaitAOF    bool       `json:"wait_aof,omitempty"`
	Connection Connection `json:"connection,omitempty"`
	// Resends bounds the client library's resends of an unanswered command.
	Resends int `json:"resends,omitempty"`
	// Pool is the number of the client library's connections to each server; 0: more than needed.
	Pool int `json:"pool,omitempty"`
}

// WaitsForReplicas reports whether an acquire waits for more than its server's reply.
func (s Settings) WaitsForReplicas() bool { return s.Wait > 0 || s.WaitAOF }

// WithDefaults sets unset options. The defaults suit TTLs from 20 ms to minutes:
//   - NodeTimeout is 5 % of the TTL, between 20 ms and 100 ms: redis.io's page wants it small compared with the TTL
//     ("~5-50 milliseconds" for 10 s), and below 20 ms a busy machine causes timeouts; but half the TTL at most;
//   - Drift is 0.01, the value of the page's reference implementation;
//   - RetryMin and RetryMax are 5 % and 15 % of the TTL: a waiting client makes some ten attempts in each TTL, and the
//     spread is far wider than a round trip, so that clients do not collide again;
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

// requireValidOptions wraps a lock's constructor: it sets the defaults and rejects options that are invalid for every
// lock.
func requireValidOptions(k Kind) func(Env) (Lock, error) {
	build := k.New
	return func(env Env) (Lock, error) {
		env.Options = env.Options.WithDefaults()
		if env.TTL < time.Millisecond {
			return nil, RefusalError("a TTL of %s: Redis counts expiry in milliseconds, so 1ms or more is right", env.TTL)
		}
		if env.RetryMax < env.RetryMin { // possible if not both are in TTLs
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

// RefusalError is a lock's reason to refuse a setup.
func RefusalError(format string, args ...any) error {
	return &Error{Reason: history.ReasonRefused, Err: fmt.Errorf(format, args...)}
}

// Reason returns the reason of a failed operation, ReasonOther if the lock reports none.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return history.ReasonOther
}
