package client

import (
	"context"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// refused stands in for a lock that could not be made because the lock does not
// accept its list of nodes. That is an outcome for the history, not a failure of
// the harness: the client asks for the lock, and is told no.
type refused struct{ why error }

func (r refused) Acquire(context.Context, string) (locks.Lease, error) {
	return nil, &locks.Error{Reason: history.ReasonRefused, Err: r.why}
}

func (r refused) Close() error { return nil }
