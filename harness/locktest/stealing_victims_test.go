package locktest_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// replacer replaces the value of a dead holder, and reports whether it did.
type replacer func(ctx context.Context, client *redis.Client, key, old, mine string) (bool, error)

func bySet(ctx context.Context, client *redis.Client, key, _, mine string) (bool, error) {
	err := client.Set(ctx, key, mine, 0).Err()
	return err == nil, err
}

var setIfUnchanged = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

func ifUnchanged(ctx context.Context, client *redis.Client, key, old, mine string) (bool, error) {
	return setIfUnchanged.Eval(ctx, client, []string{key}, old, mine).Bool()
}

// stealing has the lease's end in the key's value, by the server's clock, and no expiry.
func stealing(replace replacer) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0, noRetries)
		clock := env.Clock()
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			l := &monotonic{clock: clock, until: clock.Now() + env.TTL*98/100}
			now, err := client.Time(ctx).Result()
			if err != nil {
				return nil, err
			}
			mine := strconv.FormatInt(now.Add(env.TTL).UnixMilli(), 10) + ":" + rand.Text()
			l.release = func(ctx context.Context) error { return client.Eval(ctx, owned, []string{key}, mine).Err() }
			taken, err := client.SetNX(ctx, key, mine, 0).Result()
			if err == nil && !taken {
				var old string
				if old, err = client.Get(ctx, key).Result(); err == redis.Nil {
					return nil, locktest.ErrHeld
				}
				end, _, _ := strings.Cut(old, ":")
				if until, _ := strconv.ParseInt(end, 10, 64); err == nil && until < now.UnixMilli() {
					taken, err = replace(ctx, client, key, old, mine)
				}
			}
			if err == nil && (!taken || l.Validity() <= 0) {
				err = locktest.ErrHeld
			}
			if err != nil {
				_ = l.release(context.WithoutCancel(ctx))
				return nil, err
			}
			return l, nil
		}), nil
	}
}
