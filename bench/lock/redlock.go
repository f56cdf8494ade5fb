package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockproof/redlock"
)

// redlockLocker is the reference, with every rule on.
type redlockLocker struct {
	lock    *redlock.Redlock
	clients []*redis.Client
}

// openRedlock sets no option but a node timeout that a busy machine does not reach: what is
// measured is the work, not attempts that were given up.
func openRedlock(addrs []string) (locker, error) {
	return openReference(clients(addrs), redlock.WithNodeTimeout(500*time.Millisecond))
}

func openReference(all []*redis.Client, options ...redlock.Option) (locker, error) {
	nodes := make([]redis.UniversalClient, len(all))
	for i, c := range all {
		nodes[i] = c
	}
	lock, err := redlock.New(nodes, options...)
	if err != nil {
		return nil, errors.Join(err, closeAll(all))
	}
	return &redlockLocker{lock, all}, nil
}

func (l *redlockLocker) acquire(ctx context.Context, key string) (held, error) {
	lease, err := l.lock.Acquire(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	return redlockHeld{lease}, nil
}

func (l *redlockLocker) close() error { return errors.Join(l.lock.Close(), closeAll(l.clients)) }

type redlockHeld struct{ lease *redlock.Lease }

func (h redlockHeld) release(ctx context.Context) error { return h.lease.Release(ctx) }
