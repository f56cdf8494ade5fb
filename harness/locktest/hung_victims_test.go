package locktest_test

import (
	"context"
	"crypto/rand"
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

// byServerMicroseconds differs for any two grants, but shrinks when the server's clock steps back.
func byServerMicroseconds(ctx context.Context, client *redis.Client, _ string) (int64, error) {
	now, err := client.Time(ctx).Result()
	return now.UnixMicro(), err
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

// hanging is onOne with a release or a Close that never returns.
func hanging(release, end bool) locktest.New {
	hang := func(is bool) {
		if is {
			<-make(chan struct{})
		}
	}
	return func(env locktest.Env) (locktest.Lock, error) {
		lock, err := onOne(rand.Text, owned)(env)
		return closing{locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			lease, err := lock.Acquire(ctx, key)
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
