package answers

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

const compareAndExtend = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ` +
	`ARGV[2]) end return 0`

// watched is a lease that a goroutine extends; its context ends before its key can expire.
type watched struct {
	context context.Context
	cancel  context.CancelFunc
	ended   chan struct{}
	client  *redis.Client
	key     string
	token   string
}

func (w *watched) Context() context.Context { return w.context }
func (w *watched) Token() string            { return w.token }

func (w *watched) Release(ctx context.Context) error {
	w.cancel()
	<-w.ended
	deleted, err := w.client.Eval(ctx, compareAndDelete, []string{w.key}, w.token).Int()
	if err == nil && deleted == 0 {
		return locktest.ErrLost
	}
	return err
}

// renew extends the lease until an extension fails or the lease is released.
func (w *watched) renew(ttl time.Duration, until time.Time) {
	defer close(w.ended)
	defer w.cancel()
	for {
		select {
		case <-w.context.Done():
			return
		case <-time.After(min(ttl/3, time.Until(until))):
		}
		asked := time.Now()
		if !asked.Before(until) {
			return
		}
		ctx, stop := context.WithDeadline(w.context, until)
		extended, err := w.client.Eval(ctx, compareAndExtend, []string{w.key}, w.token, ttl.Milliseconds()).Int()
		stop()
		switch {
		case err == nil && extended == 0:
			return
		case err == nil:
			until = asked.Add(ttl * 9 / 10)
		}
	}
}

func withWatchdog(env locktest.Env) (locktest.Lock, error) {
	client := env.Client(0, func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries = true, -1 })
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		token, asked := rand.Text(), time.Now()
		try, stop := context.WithTimeout(ctx, env.TTL/4)
		defer stop()
		taken, err := client.SetNX(try, key, token, env.TTL).Result()
		switch {
		case err != nil: // the SET may have taken effect
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), env.TTL/4)
			defer stop()
			client.Eval(ctx, compareAndDelete, []string{key}, token)
			return nil, err
		case !taken:
			return nil, locktest.ErrHeld
		}
		w := &watched{ended: make(chan struct{}), client: client, key: key, token: token}
		w.context, w.cancel = context.WithCancel(env.Context())
		go w.renew(env.TTL, asked.Add(env.TTL*9/10))
		return w, nil
	}), nil
}

func TestWatchdog(t *testing.T) {
	answer(t, withWatchdog, []string{"late-set", "endless-extension", "cancelled-release", "renewal-outlives-release"})
}
