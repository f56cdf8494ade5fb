package builtin

import (
	"context"

	"example.org/lockproof/harness/locks"
)

func init() {
	registerFenced("redlock-fenced-too-early",
		"Redlock with fencing tokens that are taken before the lock, from one node: who waits for the lock has an old one",
		func(f *fenced) locks.Lock { return fencedEarly{f} }, nil)
}

// fencedEarly draws the token before it acquires the lock. In between another client may hold the lock, with a newer
// token.
type fencedEarly struct{ *fenced }

func (f fencedEarly) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	token, err := f.countOnFirst(ctx, key, "")
	if err != nil {
		return nil, err
	}
	lease, err := f.reference.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return &fencedLease{lease, token}, nil
}
