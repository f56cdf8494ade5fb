package redlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options set up a lock. The zero value is the defaults.
type Options struct {
	NodeTimeout        time.Duration // longest wait for nodes; 0: a twentieth of the TTL, from 1 to 50 ms
	Drift              float64       // part of the TTL set aside for clocks of different rates; 0: DefaultDrift
	Tries              int           // attempts of one Acquire; 0: until its context ends
	RetryMin, RetryMax time.Duration // range of the random delay between attempts; both 0: 50 to 250 ms
	MaxExtensions      int           // extensions that one lease may send; 0: 100
	SetGrace           time.Duration // longest wait of a release for its SET; 0: 1 ms; negative: none
	Clock              Clock         // nil: SystemClock
	Rand               io.Reader     // source of tokens and delays; nil: crypto/rand. Anything else is for tests
	Without            []Rule        // rules that are off, for teaching and for tests of checkers
}

// DefaultDrift is 1 %, as in redlock-rb and most libraries since.
const DefaultDrift = 0.01

// AnyServer is the name of a node that may use any server: it is a duplicate of every other.
const AnyServer = "whichever server of a Redis Cluster or a ring has the key"

// Redlock is a client of the lock, safe for concurrent use.
type Redlock struct {
	opt    Options
	nodes  []Node
	quorum int

	randMu  sync.Mutex      // guards Rand
	work    sync.WaitGroup  // operations, and calls to nodes that outlast them
	retries []chan struct{} // by node: a slot for each release that waits for a retry
	closing chan struct{}

	mu      sync.Mutex
	closed  bool
	longest time.Duration // the longest TTL so far
}

var _ = because(Majority,
	"Any two majorities share a node, and that node lets only one of two clients in; two halves of an even number "+
		"share none.",
	page("Safety arguments")+"; measured with two of four nodes")

var _ = because(DistinctNodes,
	"A server that is listed twice votes twice, so that a majority of the list need not be a majority of the servers.",
	page("The Redlock Algorithm")+": N independent masters; measured")

// New makes a lock on these nodes, which must be the same for all clients. It contacts none.
func New(nodes []Node, o Options) (*Redlock, error) {
	if len(nodes) == 0 || slices.Contains(nodes, nil) {
		return nil, fmt.Errorf("redlock: nodes %v: want one for each server, five by custom", nodes)
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	r := &Redlock{opt: o, nodes: slices.Clone(nodes), quorum: len(nodes)/2 + 1, closing: make(chan struct{})}
	if !r.on(Majority) {
		r.quorum = max(1, len(nodes)/2)
	}
	for range nodes {
		r.retries = append(r.retries, make(chan struct{}, 256))
	}
	if err := r.distinct(); err != nil {
		return nil, err
	}
	return r, nil
}

// complete sets defaults, and refuses invalid options.
func (o *Options) complete() error {
	o.Without = slices.Clone(o.Without)
	o.Drift, o.MaxExtensions = cmp.Or(o.Drift, DefaultDrift), cmp.Or(o.MaxExtensions, 100)
	o.SetGrace, o.Clock, o.Rand = cmp.Or(o.SetGrace, time.Millisecond), cmp.Or(o.Clock, SystemClock()),
		cmp.Or(o.Rand, rand.Reader)
	if o.RetryMax == 0 && o.RetryMin == 0 {
		o.RetryMin, o.RetryMax = 50*time.Millisecond, 250*time.Millisecond
	}
	for _, rule := range o.Without {
		if _, err := ParseRule(string(rule)); err != nil {
			return err
		}
	}
	switch {
	case !(o.Drift >= 0 && o.Drift < 1):
		return fmt.Errorf("redlock: Options.Drift %v: want a part of the TTL, from 0 to less than 1", o.Drift)
	case o.RetryMin < 0 || o.RetryMax < o.RetryMin:
		return fmt.Errorf("redlock: Options.RetryMin %s, RetryMax %s: want 0 <= RetryMin <= RetryMax", o.RetryMin,
			o.RetryMax)
	case o.NodeTimeout < 0 || o.Tries < 0 || o.MaxExtensions < 0:
		return fmt.Errorf("redlock: Options.NodeTimeout %s, Tries %d, MaxExtensions %d: want 0 or more",
			o.NodeTimeout, o.Tries, o.MaxExtensions)
	}
	return nil
}

// distinct compares the names of all nodes. Package guard finds one server under two names.
func (r *Redlock) distinct() error {
	const every = " (" + AnyServer + ")"
	for j := range r.nodes {
		for i := range j {
			a, b := r.name(i), r.name(j)
			if r.on(DistinctNodes) && (a == b && a != "" || a == every || b == every) {
				return fmt.Errorf("redlock: %w: nodes %d%s and %d%s", ErrDuplicateNode, i, a, j, b)
			}
		}
	}
	return nil
}

// name is a node's name in brackets, "" if it has none.
func (r *Redlock) name(node int) string {
	if s, ok := r.nodes[node].(fmt.Stringer); ok {
		return " (" + s.String() + ")"
	}
	return ""
}

// enter admits an operation, which ends with work.Done.
func (r *Redlock) enter(op, key string, ttl time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("redlock: %s %q: %w", op, key, ErrClosed)
	}
	r.longest = max(r.longest, ttl)
	r.work.Add(1)
	return nil
}

// Close refuses new work, ends attempts and watches with ErrClosed, and waits for calls under way, so that the clients
// may be closed after it. It releases no lease: one that was not released before keeps its keys until they expire. A
// hung node can delay a SET, its release and the release's last retry, each for a TTL: after three of the longest,
// Close returns an error.
func (r *Redlock) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	limit := 3*r.longest + time.Second
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		r.work.Wait()
		close(done)
	}()
	if r.sleep(limit, done, nil, nil) {
		return fmt.Errorf("redlock: close: calls to nodes are still under way after %s; they end when the clients are "+
			"closed", limit)
	}
	return nil
}

// sleep waits for d, or until a channel is closed. It reports whether d has passed.
func (r *Redlock) sleep(d time.Duration, a, b, c <-chan struct{}) bool {
	timer := r.opt.Clock.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-a:
	case <-b:
	case <-c:
	}
	return false
}

// Errors of operations and nodes. They come wrapped: use errors.Is. Acquire fails with ErrHeld,
// ErrNoMajority, ErrTooLate or ErrRefused; Extend with ErrNoMajority, ErrTooLate, ErrLost, ErrReleased or ErrBounded;
// Release with ErrLost, ErrNoMajority or ErrReleased.
var (
	ErrHeld          = errors.New("held by another")
	ErrNoMajority    = errors.New("no majority of the nodes answered")
	ErrTooLate       = errors.New("took too long") // a majority agreed, but no validity was left
	ErrLost          = errors.New("the lease is lost: the key is not ours any more")
	ErrReleased      = errors.New("the lease has been released")
	ErrBounded       = errors.New("the lease may not be extended again")
	ErrExpiring      = errors.New("the lease's validity is ending") // why Watch ends its context
	ErrClosed        = errors.New("the lock is closed")
	ErrNodeTimeout   = errors.New("no answer within the node timeout")
	ErrNotSent       = errors.New("not sent") // the node was not contacted and needs no release
	ErrRefused       = errors.New("refused")  // by a node: no majority outvotes it, and Acquire does not retry
	ErrDuplicateNode = fmt.Errorf("%w: the same server is listed twice", ErrRefused)
)

// AttemptError is a failed acquire, extension or release. Of several attempts of an Acquire it describes the last one
// that was decided. errors.Is finds the reason, the caller's own context error, and each node's.
type AttemptError struct {
	Op, Key   string  // acquire, extend or release
	Need, Got int     // votes for yes
	Tries     int     // attempts of an Acquire
	Reason    error   // one of the errors above; nil if no attempt was decided
	Ended     error   // the context's error or ErrClosed, if that cut it short
	Nodes     []error // of the nodes known not to have said yes
}

func (e *AttemptError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s %q: ", e.Op, e.Key)
	if e.Reason != nil {
		fmt.Fprintf(&b, "%v; ", e.Reason)
	}
	fmt.Fprintf(&b, "%d of %d needed nodes said yes", e.Got, e.Need)
	if e.Tries > 1 {
		fmt.Fprintf(&b, " at the last of %d attempts", e.Tries)
	}
	for _, err := range e.Nodes {
		fmt.Fprintf(&b, "; %v", err)
	}
	if e.Ended != nil {
		fmt.Fprintf(&b, "; cut short: %v", e.Ended)
	}
	return b.String()
}

// Unwrap returns all causes.
func (e *AttemptError) Unwrap() []error {
	all := append([]error{e.Reason, e.Ended}, e.Nodes...)
	return slices.DeleteFunc(all, func(err error) bool { return err == nil }) // nil is invalid in Unwrap (package errors)
}

// ended returns the context's error with its cause, or ErrClosed if the context has not ended.
func (r *Redlock) ended(ctx context.Context) error {
	switch err, cause := ctx.Err(), context.Cause(ctx); {
	case err == nil:
		return ErrClosed
	case errors.Is(cause, err):
		return err
	default:
		return fmt.Errorf("%w: %w", err, cause)
	}
}
