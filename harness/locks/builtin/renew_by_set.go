package builtin

import (
	"context"
	"sync"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func init() {
	locks.Register(locks.Kind{
		Name:      "single-renew-by-set",
		Doc:       "one node, naive: a renewal puts the key back if it is gone, and ends when it is refused",
		New:       newRenewBySet,
		Abilities: locks.Abilities{OwnClock: true, Extends: true, Watches: true, SingleNode: true},
	})
}

// renewBySet renews its leases until the server refuses.
type renewBySet struct {
	*nodeLock
	renewals sync.WaitGroup
	end      context.CancelFunc
	ended    context.Context
}

// newRenewBySet makes the mistake: a renewal under way at the release restores the key, and so does each later one.
func newRenewBySet(env locks.Env) (locks.Lock, error) {
	l := newNodeLock(env)
	l.extend = l.setFreeOrOwn
	ended, end := context.WithCancel(context.Background())
	return &renewBySet{nodeLock: l, end: end, ended: ended}, nil
}

func (l *renewBySet) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := l.nodeLock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return &renewedLease{lease.(*nodeLease), l}, nil
}

func (l *renewBySet) Close() error {
	l.end()
	l.renewals.Wait()
	return l.nodeLock.Close()
}

type renewedLease struct {
	*nodeLease
	renewing *renewBySet
}

// Watch renews three times in each TTL. Its context ends at a refusal.
func (l *renewedLease) Watch(ctx context.Context, extend func(context.Context) error) context.Context {
	kept, lose := context.WithCancelCause(ctx)
	context.AfterFunc(l.renewing.ended, func() { lose(context.Canceled) })
	l.renewing.renewals.Go(func() {
		for locks.Sleep(kept, l.lock.env, l.lock.env.TTL/3) {
			if err := extend(kept); err != nil && locks.Reason(err) == history.ReasonLost {
				lose(err)
			}
		}
	})
	return kept
}
