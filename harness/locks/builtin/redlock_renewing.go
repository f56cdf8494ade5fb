package builtin

import (
	"context"
	"time"

	"example.org/lockproof/harness/locks"
)

// Renewing is the name of the reference that extends its leases by itself.
const Renewing = "redlock-renewing"

func init() {
	locks.Register(locks.Kind{
		Name: Renewing,
		Doc:  "the reference, which keeps each lease extended from its grant on: its clients go on until its context ends",
		New: func(env locks.Env) (locks.Lock, error) {
			lock, err := newReference(env, 0)
			if err != nil {
				return nil, err
			}
			return &renewing{reference: lock}, nil
		},
		Abilities: locks.Abilities{OwnClock: true, Extends: true, Watches: true, Renews: true,
			Belief: "until they release it or its context ends"},
		Rules: true, Majority: true,
	})
}

// renewing is the reference with a watchdog from the grant on.
type renewing struct{ *reference }

func (r *renewing) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := r.reference.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return &renewingLease{lease, lease.lease.WatchBy(context.WithoutCancel(ctx), lease.Extend)}, nil
}

type renewingLease struct {
	*referenceLease
	kept context.Context
}

// unlimitedValidity exceeds any run: the context shows the end of the lease.
const unlimitedValidity = 1000 * time.Hour

func (l *renewingLease) Validity() time.Duration  { return unlimitedValidity }
func (l *renewingLease) Context() context.Context { return l.kept }
