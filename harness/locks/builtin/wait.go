package builtin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// waiter sends SET, and WAIT or WAITAOF.
type waiter interface {
	SetNX(ctx context.Context, key string, value any, expiry time.Duration) *redis.BoolCmd
	Wait(ctx context.Context, replicas int, timeout time.Duration) *redis.IntCmd
	WaitAOF(ctx context.Context, local, replicas int, timeout time.Duration) *redis.IntSliceCmd
}

// waitOnOne takes the key, and waits on the same connection until enough
// replicas have it.
func (l *nodeLock) waitOnOne(ctx context.Context, key, token string) (bool, error) {
	conn := l.conn.Conn()
	defer conn.Close()
	return l.takeAndWait(ctx, conn, key, token)
}

// waitOnPool takes the key and waits as a program does that sends each command on
// whatever connection its pool hands out. Here the pool has two and hands them
// out in turn, as one under load does.
func (l *nodeLock) waitOnPool(ctx context.Context, key, token string) (bool, error) {
	if err := l.fillPool(ctx); err != nil {
		return false, err
	}
	return l.takeAndWait(ctx, l.pool, key, token)
}

// takeAndWait is an error where the key was taken, unless enough replicas have acknowledged it, or
// have it on their disks as its server has.
func (l *nodeLock) takeAndWait(ctx context.Context, w waiter, key, token string) (bool, error) {
	taken, err := w.SetNX(ctx, key, token, l.env.TTL).Result()
	if err != nil || !taken {
		return false, err
	}
	timeout := l.env.NodeTimeout / 2
	if l.env.WaitAOF {
		return l.waitAOF(w.WaitAOF(ctx, 1, l.env.Wait, timeout))
	}
	have, err := w.Wait(ctx, l.env.Wait, timeout).Result()
	if err == nil && have < int64(l.env.Wait) {
		err = fmt.Errorf("%d of %d replicas have acknowledged it", have, l.env.Wait)
	}
	return err == nil, err
}

// fillPool makes the pool, with two connections in it, at its first use.
func (l *nodeLock) fillPool(ctx context.Context) error {
	l.filling.Lock()
	defer l.filling.Unlock()
	if l.pool != nil {
		return nil
	}
	options := *l.conn.Options()
	options.PoolFIFO = true
	pool := redis.NewClient(&options)
	first, second := pool.Conn(), pool.Conn()
	defer first.Close()
	defer second.Close()
	for _, conn := range []*redis.Conn{first, second} {
		if err := conn.Ping(ctx).Err(); err != nil {
			pool.Close()
			return err
		}
	}
	l.pool = pool
	return nil
}

// waitAOF is an error unless WAITAOF has found the key on its server's disk, and on those of
// enough replicas.
func (l *nodeLock) waitAOF(wait *redis.IntSliceCmd) (bool, error) {
	have, err := wait.Result()
	switch {
	case err != nil:
	case len(have) != 2:
		err = fmt.Errorf("WAITAOF was answered %v: two numbers are right", have)
	case have[0] < 1:
		err = errors.New("its server has it not on its disk")
	case have[1] < int64(l.env.Wait):
		err = fmt.Errorf("%d of %d replicas have it on their disks", have[1], l.env.Wait)
	}
	return err == nil, err
}
