package lock

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncLocker is redsync with its defaults, except for the TTL and unlimited tries.
type redsyncLocker struct {
	sync    *redsync.Redsync
	options []redsync.Option
	clients []*redis.Client
}

func openRedsync(addrs []string) (locker, error) { return newRedsync(addrs, false) }

// openRedsyncFailFast is redsync with a return at a majority.
func openRedsyncFailFast(addrs []string) (locker, error) { return newRedsync(addrs, true) }

func newRedsync(addrs []string, failFast bool) (locker, error) {
	l := &redsyncLocker{
		clients: clients(addrs),
		options: []redsync.Option{redsync.WithExpiry(ttl), redsync.WithTries(math.MaxInt), redsync.WithFailFast(failFast)},
	}
	var pools []redsyncredis.Pool
	for _, c := range l.clients {
		pools = append(pools, goredis.NewPool(c))
	}
	l.sync = redsync.New(pools...)
	return l, nil
}

func (l *redsyncLocker) acquire(ctx context.Context, key string) (held, error) {
	mutex := l.sync.NewMutex(key, l.options...)
	if err := mutex.LockContext(ctx); err != nil {
		return nil, err
	}
	return redsyncHeld{mutex}, nil
}

func (l *redsyncLocker) close() error { return closeAll(l.clients) }

type redsyncHeld struct{ mutex *redsync.Mutex }

func (h redsyncHeld) release(ctx context.Context) error {
	ok, err := h.mutex.UnlockContext(ctx)
	if err == nil && !ok {
		err = errors.New("redsync did not release the key and gave no cause")
	}
	return err
}
