package locktest_test

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// extension sets a key's TTL; false: the key is not the lease's.
type extension func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error)

var expireIfOwned = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`)

func extendIfOwned(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	return expireIfOwned.Eval(ctx, c, []string{key}, token, ttl.Milliseconds()).Bool()
}

func extendBySetXX(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	return c.SetXX(ctx, key, token, ttl).Result()
}

// extendByDelThenSet is an extension as a release and a new acquire: between them the key is free.
func extendByDelThenSet(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	if ours, err := compareAndDelete.Eval(ctx, c, []string{key}, token).Bool(); err != nil || !ours {
		return false, err
	}
	return c.SetNX(ctx, key, token, ttl).Result()
}

// extending is a lock on one server that checks its own clock before it extends a lease.
func extending(by extension) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0, noRetries, func(o *redis.Options) { o.ReadTimeout = env.NodeTimeout })
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			l := &extended{by: by, client: client, key: key, token: rand.Text(), ttl: env.TTL}
			l.counts(time.Now())
			if taken, err := client.SetNX(ctx, key, l.token, env.TTL).Result(); err != nil || !taken {
				_ = l.Release(context.WithoutCancel(ctx))
				return nil, locktest.ErrHeld
			}
			return l, nil
		}), nil
	}
}

type extended struct {
	by         extension
	client     *redis.Client
	key, token string
	ttl        time.Duration
	until      time.Time
}

// reporting renews its leases by itself, and they report the end of their validity.
func reporting(by extension) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) { return renewed(by, env) }
}

func renewed(by extension, env locktest.Env) (locktest.Lock, error) {
	lock, err := extending(by)(env)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		granted, err := lock.Acquire(ctx, key)
		if err != nil {
			return nil, err
		}
		l := &reported{extended: granted.(*extended)}
		l.renewing, l.stop = context.WithCancel(env.Context())
		go func() {
			for {
				select {
				case <-l.renewing.Done():
					return
				case <-time.After(env.TTL / 3):
					l.renew()
				}
			}
		}()
		return l, nil
	}), err
}

type reported struct {
	mu       sync.Mutex
	extended *extended
	renewing context.Context
	stop     context.CancelFunc
}

func (l *reported) renew() {
	asked, e := time.Now(), l.extended
	if ours, err := e.by(l.renewing, e.client, e.key, e.token, e.ttl); err == nil && ours {
		l.mu.Lock()
		defer l.mu.Unlock()
		e.counts(asked)
	}
}

func (l *reported) Validity() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.extended.Validity()
}

func (l *reported) Release(ctx context.Context) error {
	l.stop()
	return l.extended.Release(ctx)
}

func (l *extended) counts(from time.Time) { l.until = from.Add(l.ttl * 98 / 100) }

func (l *extended) Validity() time.Duration { return time.Until(l.until) }

func (l *extended) Release(ctx context.Context) error {
	return compareAndDelete.Eval(ctx, l.client, []string{l.key}, l.token).Err()
}

func (l *extended) Extend(ctx context.Context) error {
	asked := time.Now()
	if asked.After(l.until) {
		return locktest.ErrLost
	}
	ours, err := l.by(ctx, l.client, l.key, l.token, l.ttl)
	switch {
	case err != nil:
		return err
	case !ours:
		return locktest.ErrLost
	}
	l.counts(asked)
	return nil
}
