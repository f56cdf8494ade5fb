package answers

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

const compareAndDelete = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

// textbook is SET NX PX with a fresh token, and compare-and-delete: the lock of redis.io on one server.
func textbook(env locktest.Env) (locktest.Lock, error) {
	client := env.Client(0, func(o *redis.Options) {
		o.MaxRetries, o.ReadTimeout, o.ContextTimeoutEnabled = -1, env.NodeTimeout, true
	})
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		token := rand.Text()
		release := func(ctx context.Context) error {
			return client.Eval(ctx, compareAndDelete, []string{key}, token).Err()
		}
		taken, err := client.SetNX(ctx, key, token, env.TTL).Result()
		switch {
		case err != nil: // the SET may have taken effect
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = release(ctx)
			return nil, err
		case !taken:
			return nil, locktest.ErrHeld
		}
		return locktest.ReleaseFunc(release), nil
	}), nil
}

func TestTextbook(t *testing.T) {
	answer(t, textbook, []string{
		"pause-in-acquire", "slow-acquire", "short-ttl",
		"stopped-in-acquire", // the TTL is counted from the return of Acquire
		"drift-within-margin",
		"late-set",          // a SET that lands after its release
		"cancelled-release", // its caller has given up, and the key stays
	})
}
