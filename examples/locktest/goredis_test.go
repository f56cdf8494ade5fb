package locks

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// Your own lock on go-redis, with the options of your service.
func TestGoRedis(t *testing.T) {
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0, func(o *redis.Options) {
			o.PoolSize, o.MaxRetries, o.ReadTimeout, o.ContextTimeoutEnabled = 4, -1, 50*time.Millisecond, true
		})
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			token := rand.Text()
			taken, err := client.SetNX(ctx, key, token, env.TTL).Result()
			if err == nil && !taken {
				err = locktest.ErrHeld
			}
			return locktest.ReleaseFunc(func(ctx context.Context) error {
				return client.Eval(ctx, compareAndDelete, []string{key}, token).Err()
			}), err
		}), nil
	}, mutualExclusion, fromCall, noDriftMargin)
}

const compareAndDelete = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
