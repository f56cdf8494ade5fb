package dials

import (
	"context"
	"errors"
	"testing"

	"example.org/lockproof/harness/locktest"
)

// adapted is the whole adapter for Lockproof.
type adapted struct {
	*Locker
	env locktest.Env
}

func (a adapted) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lock, err := a.Lock(ctx, key, a.env.TTL)
	if errors.Is(err, ErrHeld) {
		err = errors.Join(err, locktest.ErrHeld)
	}
	return lock, err
}

func locker(release string) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		return adapted{New(server.Addr, server.Password, release), env}, nil
	}
}

var options = []locktest.Option{
	locktest.DialsItself(), locktest.Believes(locktest.FromCall), locktest.Properties("mutual-exclusion"),
	locktest.Scenarios("healthy-contention", "release-by-plain-del", "slow-acquire"),
}

func TestCompareAndDelete(t *testing.T) { locktest.Run(t, locker(CompareAndDelete), options...) }

// A late release deletes another client's key.
func TestPlainDelete(t *testing.T) {
	locktest.Run(t, locker(PlainDelete), append(options, locktest.Expect("release-by-plain-del", locktest.Violated))...)
}
