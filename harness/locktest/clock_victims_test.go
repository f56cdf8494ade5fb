package locktest_test

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// admitOne is a semaphore of one: a sorted set of holders by the end of their lease, and the caller's time.
var admitOne = redis.NewScript(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2])
if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2] + ARGV[3], ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`)

// expiringByTimeOfDay compares the times of day of different clients.
func expiringByTimeOfDay(env locktest.Env) (locktest.Lock, error) {
	client := env.Client(0, noRetries, func(o *redis.Options) { o.ReadTimeout = env.NodeTimeout })
	clock := env.Clock()
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		l := &monotonic{clock: clock, until: clock.Now() + env.TTL*98/100}
		token := rand.Text()
		l.release = func(ctx context.Context) error { return client.ZRem(ctx, key, token).Err() }
		admitted, err := admitOne.Eval(ctx, client, []string{key}, token, clock.Wall().UnixMilli(),
			env.TTL.Milliseconds()).Bool()
		switch {
		case err != nil:
			_ = l.release(context.WithoutCancel(ctx))
			return nil, err
		case !admitted || l.Validity() <= 0:
			return nil, locktest.ErrHeld
		}
		return l, nil
	}), nil
}

// monotonic is a lease by the client's monotonic clock.
type monotonic struct {
	clock   locktest.Clock
	until   time.Duration
	release func(context.Context) error
}

func (l *monotonic) Validity() time.Duration { return l.until - l.clock.Now() }

func (l *monotonic) Release(ctx context.Context) error { return l.release(ctx) }
