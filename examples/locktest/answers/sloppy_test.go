package answers

import (
	"context"
	"testing"
	"time"

	"example.org/lockproof/harness/locktest"
)

// sloppy is SETNX with a goroutine that extends the key, whoever the owner is, and reports no failure.
func sloppy(env locktest.Env) (locktest.Lock, error) {
	client := env.Client(0)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		taken, err := client.SetNX(ctx, key, "locked", env.TTL).Result()
		if err != nil {
			return nil, err
		}
		if !taken {
			return nil, locktest.ErrHeld
		}
		renewing, stop := context.WithCancel(env.Context())
		go func() {
			for {
				select {
				case <-renewing.Done():
					return
				case <-time.After(env.TTL / 3):
					client.PExpire(renewing, key, env.TTL)
				}
			}
		}()
		return locktest.ReleaseFunc(func(ctx context.Context) error {
			stop()
			return client.Del(ctx, key).Err()
		}), nil
	}), nil
}

func TestSloppy(t *testing.T) {
	answer(t, sloppy, []string{"pause-in-acquire", "slow-acquire", "stopped-in-acquire", "delayed-restart",
		"majority-crash-delayed",
		"lost-reply",
		"resent-set", "take-retried", "late-set", "cancelled-acquire", "short-ttl", "release-by-get-then-del",
		"cancelled-release",
		"watchdog-cut-off", "endless-extension", "stopped-in-release", "late-renewal", "renewal-answered-late"})
}
