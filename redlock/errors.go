package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What an operation can fail with. They come wrapped: use errors.Is.
var (
	// ErrHeld says that others hold the key on so many nodes that, with those
	// that failed, no majority was left. They may be one holder or several that
	// raced.
	ErrHeld = errors.New("held by another")
	// ErrNoMajority says that too few nodes answered.
	ErrNoMajority = errors.New("no majority of the nodes answered")
	// ErrTooLate says that a majority said yes, but that no validity was left.
	ErrTooLate = errors.New("took too long")
	// ErrLost says that a majority of the nodes does not hold the key for us any
	// more: it expired, and may be another's.
	ErrLost = errors.New("the lease is lost: the key is not ours any more")
	// ErrReleased says that the lease has been released by its holder.
	ErrReleased = errors.New("the lease has been released")
	// ErrBounded says that the lease has used up its extensions.
	ErrBounded = errors.New("the lease may not be extended again")
	// ErrDuplicateNode says that two nodes of the list are one server.
	ErrDuplicateNode = errors.New("the same server is listed twice")
	// ErrExpiring is why Watch ends its context when validity is about to end.
	ErrExpiring = errors.New("the lease's validity is ending")
	// ErrClosed says that the Redlock has been closed.
	ErrClosed = errors.New("the lock is closed")
	// ErrNodeTimeout is the cause for a node that did not answer in time.
	ErrNodeTimeout = errors.New("no answer within the node timeout")
	// ErrRestarted is the cause for a node whose server has not been up for as long
	// as WithRestartGuard wants.
	ErrRestarted = errors.New("the server has started not long ago")
)

// Causes for single nodes, which say nothing about the operation as a whole.
var (
	errNotOurs    = errors.New("the key is not ours")
	errUnanswered = errors.New("had not answered yet")
	errNotSent    = errors.New("not asked: it has answered none of the attempts before")
	errNotAsked   = errors.New("not asked: it had not said yes (ReleaseEverywhere is off)")
)

// AttemptError is a failed acquire, extend or release: what was asked, what a
// majority would have been, and what each node said. errors.Is finds Reason,
// the caller's own context error, and every node's cause. Context errors are
// found only where the caller's context ended.
type AttemptError struct {
	Op   string // acquire, extend, release
	Key  string
	Need int // how many nodes had to say yes
	Got  int // how many did
	// Tries is how many attempts an Acquire made, of which this tells the last
	// that was decided; 0 for other operations.
	Tries int
	// Reason is, or wraps, one of the package's errors; nil where the caller gave
	// up before there was one.
	Reason error
	// Ended is the error of the caller's context, or ErrClosed, if that ended
	// the operation; nil otherwise.
	Ended error
	// Nodes are those that are known not to have said yes, in the order of the
	// list.
	Nodes []NodeError
}

// NodeError is why one node did not say yes.
type NodeError struct {
	Node int    // index in the list given to New
	Addr string // "" if the client does not tell
	Err  error
}

// Error names the operation, the reason, the count and each node's cause.
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
	for _, n := range e.Nodes {
		fmt.Fprintf(&b, "; %v", n)
	}
	if e.Ended != nil {
		fmt.Fprintf(&b, "; cut short: %v", e.Ended)
	}
	return b.String()
}

// Unwrap gives the reason, the caller's context error and the nodes' causes.
func (e *AttemptError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Reason, e.Ended} {
		if err != nil {
			all = append(all, err)
		}
	}
	for _, n := range e.Nodes {
		all = append(all, n)
	}
	return all
}

// Error names the node and its cause.
func (n NodeError) Error() string {
	if n.Addr == "" {
		return fmt.Sprintf("node %d: %v", n.Node, n.Err)
	}
	return fmt.Sprintf("node %d (%s): %v", n.Node, n.Addr, n.Err)
}

// Unwrap gives the cause.
func (n NodeError) Unwrap() error { return n.Err }

// heldBy is a node's answer that another has the key.
type heldBy struct{ token string }

func (h heldBy) Error() string {
	const shown = 12
	if len(h.token) > shown {
		return fmt.Sprintf("held by token %.12q...", h.token)
	}
	return fmt.Sprintf("held by token %q", h.token)
}

// ended is a context's error, with the cause that its owner gave, if any.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// nodeCause prepares an error of the client library for an AttemptError. Our
// own limit on background calls and a dial's timeout match the context errors;
// they must not pass for the caller's, so they keep only their text.
func nodeCause(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %v", ErrNodeTimeout, err)
	}
	return err
}

// tooLate is ErrTooLate with the figures.
func tooLate(took, ttl time.Duration) error {
	return fmt.Errorf("%w: %s of a TTL of %s had passed", ErrTooLate, took, ttl)
}
