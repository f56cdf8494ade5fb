package locktest_test

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// patient waits for the replies of all servers before it counts.
func patient(env locktest.Env) (locktest.Lock, error) {
	lock := &counting{env.Clients(), env}
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lease := &countingLease{lock, key, rand.Text()}
		var yes atomic.Int64
		var asked sync.WaitGroup
		for _, node := range lock.nodes {
			asked.Go(func() {
				if ok, _ := node.SetNX(ctx, key, lease.token, env.TTL).Result(); ok {
					yes.Add(1)
				}
			})
		}
		asked.Wait()
		if int(yes.Load()) > len(lock.nodes)/2 {
			return lease, nil
		}
		_ = lease.Release(ctx)
		return nil, locktest.ErrHeld
	}), nil
}

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
	lock := &counting{env.Clients(noRetries, func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout = -1,
			-1, time.Hour
	}), env}
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
