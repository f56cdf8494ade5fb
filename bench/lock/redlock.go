package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/batch"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/native"
	"example.org/lockproof/redlock/server"
)

// redlockLocker is the reference, with every rule on.
type redlockLocker struct {
	lock    *redlock.Redlock
	clients []*redis.Client
}

// full is the usual set-up of a service: everything but the restart guard, which needs the longest TTL.
var full = []server.Decorator{batch.Pipelines, native.Commands, guard.Servers(guard.Options{})}

// openRedlock sets only a node timeout that a busy machine does not reach: abandoned attempts would distort the
// measurement.
func openRedlock(addrs []string) (locker, error) {
	return openReference(clients(addrs), 500*time.Millisecond, full...)
}

func openReference(all []*redis.Client, timeout time.Duration, decorators ...server.Decorator) (locker, error) {
	clients := make([]redis.UniversalClient, len(all))
	for i, c := range all {
		clients[i] = c
	}
	nodes, err := server.Nodes(clients, decorators...)
	if err != nil {
		return nil, errors.Join(err, closeAll(all))
	}
	lock, err := redlock.New(nodes, redlock.Options{NodeTimeout: timeout})
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
