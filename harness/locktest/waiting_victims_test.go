package locktest_test

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// deaf is onOne that retries until it has the lock, even after its context ended.
func deaf(env locktest.Env) (locktest.Lock, error) {
	lock, err := onOne(rand.Text, owned)(env)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		for {
			lease, err := lock.Acquire(context.WithoutCancel(ctx), key)
			if err == nil || env.Context().Err() != nil {
				return lease, err
			}
			time.Sleep(env.RetryMax)
		}
	}), err
}

// stuck is onOne whose acquire never returns after a refusal.
func stuck(env locktest.Env) (locktest.Lock, error) {
	lock, err := onOne(rand.Text, owned)(env)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lease, err := lock.Acquire(ctx, key)
		if err != nil {
			<-env.Context().Done()
		}
		return lease, err
	}), err
}

// inTurn sends to one server after the other and waits for each reply.
func inTurn(env locktest.Env) (locktest.Lock, error) {
	lock := &counting{nodes: env.Clients(noRetries, func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout = -1, -1, time.Hour
	}), env: env}
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lease := &countingLease{lock, key, rand.Text()}
		yes := 0
		for _, node := range lock.nodes {
			if ok, _ := node.SetNX(ctx, key, lease.token, env.TTL).Result(); ok {
				yes++
			}
			if yes > len(lock.nodes)/2 {
				return lease, nil
			}
		}
		_ = lease.Release(ctx)
		return nil, locktest.ErrHeld
	}), nil
}
