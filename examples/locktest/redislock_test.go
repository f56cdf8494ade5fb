package locks

import (
	"context"
	"errors"
	"testing"

	"github.com/bsm/redislock"

	"example.org/lockproof/harness/locktest"
)

// bsm/redislock: its lock is a lease without an adapter. It acquires by a script.
func TestRedislock(t *testing.T) {
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		client := redislock.New(env.Client(0))
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			lock, err := client.Obtain(ctx, key, env.TTL, nil)
			if errors.Is(err, redislock.ErrNotObtained) {
				err = errors.Join(err, locktest.ErrHeld)
			}
			return lock, err
		}), nil
	}, mutualExclusion, fromCall, noDriftMargin)
}

// mutualExclusion is the only property in these examples; a service would test all.
var mutualExclusion = locktest.Properties("mutual-exclusion")

// fromCall declares that the callers of these locks count the TTL from before the call, which is safe. Without it,
// clients count it from the return of Acquire, and several rows show why that is a bug.
var fromCall = locktest.Believes(locktest.FromCall)

// noDriftMargin is a known bug of these locks: a whole TTL leaves no margin for a server whose clock is fast.
var noDriftMargin = locktest.Expect("drift-within-margin", locktest.Violated)
