package locktest_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// counted is onOne with a fencing token from draw.
func counted(draw func(ctx context.Context, client *redis.Client, counter string) (int64, error)) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		lock, err := onOne(rand.Text, owned)(env)
		client := env.Client(0, noRetries)
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			lease, err := lock.Acquire(ctx, key)
			if err != nil {
				return nil, err
			}
			fence, err := draw(ctx, client, "counter:"+key)
			if err != nil {
				_ = lease.Release(context.WithoutCancel(ctx))
				return nil, err
			}
			return fencedLease{lease, fence}, nil
		}), err
	}
}

func byServerTime(ctx context.Context, client *redis.Client, _ string) (int64, error) {
	now, err := client.Time(ctx).Result()
	return now.UnixMilli(), err
}

func byGetAndSet(ctx context.Context, client *redis.Client, counter string) (int64, error) {
	count, err := client.Get(ctx, counter).Int64()
	if err != nil && err != redis.Nil {
		return 0, err
	}
	return count + 1, client.Set(ctx, counter, count+1, 0).Err()
}

func byExpiringCounter(ctx context.Context, client *redis.Client, counter string) (int64, error) {
	count, err := client.Incr(ctx, counter).Result()
	if err != nil {
		return 0, err
	}
	return count, client.Expire(ctx, counter, 24*time.Hour).Err()
}

// hanging is onOne with a call that never returns.
func hanging(acquire, release, end bool) locktest.New {
	hang := func(is bool) {
		if is {
			<-make(chan struct{})
		}
	}
	return func(env locktest.Env) (locktest.Lock, error) {
		lock, err := onOne(rand.Text, owned)(env)
		return closing{locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			lease, err := lock.Acquire(ctx, key)
			hang(acquire && err != nil)
			return locktest.ReleaseFunc(func(ctx context.Context) error {
				hang(release)
				return lease.Release(ctx)
			}), err
		}), func() { hang(end) }}, err
	}
}

type closing struct {
	locktest.Lock
	end func()
}

func (l closing) Close() error { l.end(); return nil }

// Each shows in one row, whatever the lock's commands are: a client stops at each of its messages, two leases follow
// within a millisecond, or every expiring key expires.
func TestFencing_TokenNotFromACounter_IsABug(t *testing.T) {
	for token, row := range map[string]string{"by-server-time": "fencing-same-instant",
		"by-get-and-set": "stopped-in-acquire", "by-expiring-counter": "fencing-counter-expires"} {
		r := victim(t, token)
		r.failed(t, "TestVictims/"+token, row)
		r.says(t, "fencing: violated, and kept by the reference of its class")
	}
}

func TestRun_CallNeverReturns_SaysWhich(t *testing.T) {
	r := victim(t, "acquire-hangs")
	r.failed(t, "TestVictims/acquire-hangs", "majority-down")
	r.says(t, "cancellation: violated")
	victim(t, "release-hangs").says(t, "with nothing in the lock's way and nobody else, c1's release, whose caller had "+
		"given up, had not returned after")
	victim(t, "close-hangs").says(t, "the lock's Close has not returned for")
}
