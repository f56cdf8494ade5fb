package locks

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"

	"example.org/lockproof/harness/locktest"
)

// redigo connects by address and dialler.
func TestRedigo(t *testing.T) {
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		pool := &redis.Pool{MaxIdle: 2, DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", server.Addr, redis.DialContextFunc(env.Dial),
				redis.DialPassword(server.Password))
		}}
		return redigoLock{pool, env}, nil
	}, mutualExclusion, fromCall, noDriftMargin)
}

type redigoLock struct {
	*redis.Pool // with Close
	env         locktest.Env
}

func (l redigoLock) do(ctx context.Context, command string, args ...any) (any, error) {
	conn, err := l.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return redis.DoContext(conn, ctx, command, args...)
}

func (l redigoLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	token := rand.Text()
	_, err := redis.String(l.do(ctx, "SET", key, token, "NX", "PX", l.env.TTL.Milliseconds()))
	if errors.Is(err, redis.ErrNil) {
		err = locktest.ErrHeld
	}
	return locktest.ReleaseFunc(func(ctx context.Context) error {
		_, err := l.do(ctx, "EVAL", compareAndDelete, 1, key, token)
		return err
	}), err
}
