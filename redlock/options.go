package redlock

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// The defaults.
const (
	// DefaultDrift is the part of the TTL set aside for clock drift: 1 %, as in
	// redlock-rb and most libraries since.
	DefaultDrift = 0.01
	// DefaultRetryMin and DefaultRetryMax bound the random delay between
	// attempts.
	DefaultRetryMin = 50 * time.Millisecond
	DefaultRetryMax = 250 * time.Millisecond
	// DefaultMaxExtensions is how often one lease may be extended.
	DefaultMaxExtensions = 100
	// DefaultBatchWait is for how long commands to one node wait to share a
	// pipeline: long against a round trip in one data centre, short against the
	// node timeout.
	DefaultBatchWait = time.Millisecond

	// The node timeout, unless set, is a twentieth of the TTL but at most
	// maxNodeTimeout, the upper end of the redis.io page's "5-50 milliseconds",
	// and at least minNodeTimeout.
	maxNodeTimeout = 50 * time.Millisecond
	minNodeTimeout = time.Millisecond

	// precision is what DriftMargin takes off beside the drift: servers expire
	// keys by whole milliseconds, and short TTLs need a floor.
	precision = 2 * time.Millisecond
)

// Option sets up a Redlock; New reports those that make no sense.
type Option func(*options) error

type options struct {
	clock         Clock
	rand          io.Reader
	nodeTimeout   time.Duration // 0: from the TTL
	drift         float64
	tries         int
	retryMin      time.Duration
	retryMax      time.Duration
	maxExtensions int
	inTurn        bool
	batchWait     time.Duration
	longestTTL    time.Duration // 0: no RestartGuard
	off           map[Rule]bool
	hooks         []Hooks
	log           *slog.Logger // nil: nobody asked
}

func defaults() options {
	return options{
		clock:         SystemClock(),
		rand:          rand.Reader,
		drift:         DefaultDrift,
		retryMin:      DefaultRetryMin,
		retryMax:      DefaultRetryMax,
		maxExtensions: DefaultMaxExtensions,
		batchWait:     DefaultBatchWait,
		off:           map[Rule]bool{},
	}
}

// WithClock makes the lock read time from c instead of the system's clock.
func WithClock(c Clock) Option {
	return func(o *options) error {
		if c == nil {
			return errors.New("WithClock: the clock is nil; leave the option out for the system's")
		}
		o.clock = c
		return nil
	}
}

// WithRand makes tokens and retry delays come from r instead of crypto/rand.
// The lock never reads from it twice at a time. Tokens must be impossible to
// guess and never the same: anything but crypto/rand is for tests.
func WithRand(r io.Reader) Option {
	return func(o *options) error {
		if r == nil {
			return errors.New("WithRand: the reader is nil; leave the option out for crypto/rand")
		}
		o.rand = r
		return nil
	}
}

// WithNodeTimeout sets for how long an attempt, an extension or a release waits
// for nodes that have not answered. It should be small against the TTL, and
// large against a round trip. Unless set, it is a twentieth of the TTL, but at
// most 50 ms and at least 1 ms.
func WithNodeTimeout(d time.Duration) Option {
	return func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("WithNodeTimeout: %s must be positive; leave the option out for a twentieth of the TTL", d)
		}
		o.nodeTimeout = d
		return nil
	}
}

// WithDrift sets the part of the TTL that is set aside for clocks that run at
// different rates: 0.01 unless set.
func WithDrift(factor float64) Option {
	return func(o *options) error {
		if !(factor >= 0 && factor < 1) {
			return fmt.Errorf("WithDrift: %v must be a part of the TTL, from 0 to less than 1", factor)
		}
		o.drift = factor
		return nil
	}
}

// WithTries sets how many attempts one Acquire makes; 0, the default, means
// until its context ends.
func WithTries(n int) Option {
	return func(o *options) error {
		if n < 0 {
			return fmt.Errorf("WithTries: %d must not be negative; 0 means until the context ends", n)
		}
		o.tries = n
		return nil
	}
}

// WithRetryDelay sets the range from which the delay between two attempts is
// drawn: 50 ms to 250 ms unless set. It should be long against a round trip, or
// an attempt meets what its predecessor has not yet taken back.
func WithRetryDelay(min, max time.Duration) Option {
	return func(o *options) error {
		if min < 0 || max < min {
			return fmt.Errorf("WithRetryDelay: %s to %s is no range; it needs 0 <= min <= max", min, max)
		}
		o.retryMin, o.retryMax = min, max
		return nil
	}
}

// WithMaxExtensions sets how many extensions one lease may send, whatever comes
// of them: 100 unless set.
func WithMaxExtensions(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithMaxExtensions: %d must be at least 1; Without(BoundedExtensions) lifts the limit", n)
		}
		o.maxExtensions = n
		return nil
	}
}

// WithNodesInTurn makes an acquire ask one node after the other, each for at most
// the node timeout, as step 2 of the redis.io page's algorithm has it, until the
// attempt has failed or every node has been asked. By default all nodes are asked
// at once, as the page's section "Retry on failure" advises: that takes one round
// trip, and this takes one for each node. All else is the same: releases and
// extensions go to all nodes at once. It is for comparison. The limit on each node
// binds only if the go-redis clients have ContextTimeoutEnabled.
func WithNodesInTurn() Option {
	return func(o *options) error {
		o.inTurn, o.batchWait = true, 0 // a limit of its own needs an exchange of its own
		return nil
	}
}

// WithBatchWait sets how long a command waits while another exchange with its
// node is under way: 1 ms unless set. What waits goes in one pipeline when that
// exchange ends, or beside it when the wait is over. Under load this saves the
// servers and the client most of their reads and writes. It waits longer beside
// more than one, up to 512 times where the node does not answer at all. 0 sends
// each command by itself.
func WithBatchWait(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithBatchWait: %s must not be negative; 0 sends each command by itself", d)
		}
		o.batchWait = d
		return nil
	}
}

// WithRestartGuard makes up for servers that restart without their keys: one that
// has not been up for longer than any lease of before its restart can last does not
// count as a yes. Longest is the longest TTL that anybody uses for a lock on these
// servers; an Acquire with a longer one is refused, and all who lock the same keys
// must have the guard. It asks with the first command on a new connection, and
// then no more, so that it costs nothing for each lock. A server that has restarted is
// away from this lock for longest, the margin for clocks and some two seconds more,
// and so is a new one; when a majority has restarted, the lock is. It needs a
// *redis.Client for each node, and servers that answer INFO.
//
// A client whose dials its hooks do not see, as one made by WithTimeout, asks with
// every SET.
//
// It does not help where keys are lost without a restart: FLUSHALL, eviction, a
// replica that takes over, a virtual machine that is put back to a snapshot; nor where
// a proxy keeps connections open over a restart, several servers are behind one address,
// or a server's wall clock, by which uptime is counted, is stepped forward after its
// start, unless this client used the server until it restarted.
func WithRestartGuard(longest time.Duration) Option {
	return func(o *options) error {
		if longest < time.Millisecond {
			return fmt.Errorf("WithRestartGuard: %s must be the longest TTL in use, a millisecond or more", longest)
		}
		o.longestTTL = longest
		return nil
	}
}

// Without switches rules off. The lock is then unsafe, or can get stuck, in the
// way that the rule's reason tells: for teaching and for tests of checkers.
func Without(rules ...Rule) Option {
	return func(o *options) error {
		for _, rule := range rules {
			if _, err := ParseRule(string(rule)); err != nil {
				return fmt.Errorf("Without: %w", err)
			}
			o.off[rule] = true
		}
		return nil
	}
}

// on reports whether a rule is in force.
func (o *options) on(rule Rule) bool { return !o.off[rule] }

// now reads the clock that the lock measures with, from an arbitrary origin.
func (o *options) now() time.Duration {
	if o.on(MonotonicClock) {
		return o.clock.Now()
	}
	return time.Duration(o.clock.Wall().UnixNano())
}

// margin is what validity sets aside for clock drift at a TTL.
func (o *options) margin(ttl time.Duration) time.Duration {
	if !o.on(DriftMargin) {
		return 0
	}
	return time.Duration(float64(ttl)*o.drift) + precision
}

// deadline is the reading of now at which a lease ends whose commands were
// first sent at start.
func (o *options) deadline(start, ttl time.Duration) time.Duration {
	if !o.on(ElapsedCheck) {
		start = o.now()
	}
	return start + ttl - o.margin(ttl)
}

// timeoutAt is the node timeout at a TTL.
func (o *options) timeoutAt(ttl time.Duration) time.Duration {
	if o.nodeTimeout > 0 {
		return o.nodeTimeout
	}
	return max(minNodeTimeout, min(maxNodeTimeout, ttl/20))
}
