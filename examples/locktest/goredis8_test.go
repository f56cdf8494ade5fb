package locks

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	"github.com/go-redis/redis/v8"

	"example.org/lockproof/harness/locktest"
)

// go-redis before version 9 connects by address and dialler, as any other client does. Its pool has a reaper, which
// must not outlive its trial.
func TestGoRedis8(t *testing.T) {
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		client := redis.NewClient(&redis.Options{Addr: server.Addr, Password: server.Password, MaxRetries: -1,
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) { return env.Dial(ctx, network, addr) }})
		return goRedis8Lock{client, env}, nil
	}, mutualExclusion, fromCall, noDriftMargin)
}

type goRedis8Lock struct {
	*redis.Client // with Close
	env           locktest.Env
}

func (l goRedis8Lock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	token := rand.Text()
	taken, err := l.SetNX(ctx, key, token, l.env.TTL).Result()
	if err == nil && !taken {
		err = locktest.ErrHeld
	}
	return locktest.ReleaseFunc(func(ctx context.Context) error {
		return l.Eval(ctx, compareAndDelete, []string{key}, token).Err()
	}), err
}
