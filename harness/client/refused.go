package client

import (
	"context"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// refused replaces a lock that rejects its list of nodes. That is an outcome for the history, not a failure of the
// harness: each acquire fails.
type refused struct{ why error }

func (r refused) Acquire(context.Context, string) (locks.Lease, error) {
	return nil, &locks.Error{Reason: history.ReasonRefused, Err: r.why}
}

func (r refused) Close() error { return nil }
