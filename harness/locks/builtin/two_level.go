package builtin

import (
	"context"
	"fmt"
	"sync"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func init() {
	onOneNode("single-two-level",
		"one node, naive: a mutex of the process comes first, and a release that fails leaves it locked", newTwoLevel)
}

// twoLevel saves its server the threads of one process: they queue at a mutex for each key.
type twoLevel struct {
	locks.Lock
	mu      sync.Mutex
	mutexes map[string]chan struct{} // each holds one value while it is locked
}

func newTwoLevel(env locks.Env) (locks.Lock, error) {
	l, err := newSingle(env)
	if err != nil {
		return nil, err
	}
	return &twoLevel{Lock: l, mutexes: map[string]chan struct{}{}}, nil
}

func (l *twoLevel) mutex(key string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mutexes[key] == nil {
		l.mutexes[key] = make(chan struct{}, 1)
	}
	return l.mutexes[key]
}

func (l *twoLevel) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	mutex := l.mutex(key)
	select {
	case mutex <- struct{}{}:
	case <-ctx.Done():
		return nil, &locks.Error{Reason: history.ReasonHeld,
			Err: fmt.Errorf("another thread of this process has %s: %w", key, context.Cause(ctx))}
	}
	lease, err := l.Lock.Acquire(ctx, key)
	if err != nil {
		<-mutex
		return nil, err
	}
	return &twoLevelLease{lease, mutex}, nil
}

type twoLevelLease struct {
	locks.Lease
	mutex chan struct{}
}

// Release makes the mistake: if the key is gone, as after an expired lease, it returns before it unlocks the mutex.
func (l *twoLevelLease) Release(ctx context.Context) error {
	if err := l.Lease.Release(ctx); err != nil {
		return err
	}
	<-l.mutex
	return nil
}
