package dials

import (
	"context"
	"errors"
	"testing"

	"example.org/lockproof/harness/locktest"
)

// renewed is adapted, with renewed leases.
type renewed struct{ adapted }

func (a renewed) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lock, err := a.LockRenewed(ctx, key, a.env.TTL)
	if errors.Is(err, ErrHeld) {
		err = errors.Join(err, locktest.ErrHeld)
	}
	return lock, err
}

// TestRenewed finds nothing in any number of trials, unless the lock's goroutines overtake each other:
// lockproof test -interleave example.com/dials
func TestRenewed(t *testing.T) {
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		return renewed{adapted{New(server.Addr, server.Password, CompareAndDelete), env}}, nil
	}, locktest.DialsItself(), locktest.Believes(locktest.UntilReleased), locktest.Scenarios("testdata/renewals.yaml"),
		locktest.Trials(200))
}
