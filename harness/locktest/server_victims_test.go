package locktest_test

import (
	"context"
	"crypto/rand"

	"example.org/lockproof/harness/locktest"
)

// releasingByDelex is onOne with the compare-and-delete of Redis 8.4.
func releasingByDelex(env locktest.Env) (locktest.Lock, error) {
	client := env.Client(0, noRetries)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		token := rand.Text()
		release := func(ctx context.Context) error { return client.Do(ctx, "DELEX", key, "IFEQ", token).Err() }
		taken, err := client.SetNX(ctx, key, token, env.TTL).Result()
		switch {
		case err != nil:
			_ = release(context.WithoutCancel(ctx))
		case !taken:
			err = locktest.ErrHeld
		}
		return locktest.ReleaseFunc(release), err
	}), nil
}
