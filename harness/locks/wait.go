package locks

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Connection says on which connection a lock sends WAIT.
type Connection string

// The connections. WAIT counts the replicas that have the writes of its own
// connection (source: redis.io, WAIT): on another one, which has written nothing,
// every replica has.
const (
	ConnectionOne  Connection = "one"  // the SET's
	ConnectionPool Connection = "pool" // the next of the pool
)

// waitOnOne takes the key, and waits on the same connection until enough
// replicas have it.
func (l *nodeLock) waitOnOne(ctx context.Context, key, token string) (bool, error) {
	conn := l.one.Conn()
	defer conn.Close()
	taken, err := conn.SetNX(ctx, key, token, l.env.TTL).Result()
	if err != nil || !taken {
		return false, err
	}
	return l.acknowledged(conn.Wait(ctx, l.env.Wait, l.env.NodeTimeout/2))
}

// waitOnPool takes the key and waits as a program does that sends each command on
// whatever connection its pool hands out. Here the pool has two and hands them
// out in turn, as one under load does.
func (l *nodeLock) waitOnPool(ctx context.Context, key, token string) (bool, error) {
	if err := l.fillPool(ctx); err != nil {
		return false, err
	}
	taken, err := l.pool.SetNX(ctx, key, token, l.env.TTL).Result()
	if err != nil || !taken {
		return false, err
	}
	return l.acknowledged(l.pool.Wait(ctx, l.env.Wait, l.env.NodeTimeout/2))
}

// fillPool makes the pool, with two connections in it, at its first use.
func (l *nodeLock) fillPool(ctx context.Context) error {
	l.filling.Lock()
	defer l.filling.Unlock()
	if l.pool != nil {
		return nil
	}
	options := *l.one.Options()
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

// acknowledged is an error unless enough replicas have acknowledged the key.
func (l *nodeLock) acknowledged(wait *redis.IntCmd) (bool, error) {
	have, err := wait.Result()
	if err == nil && have < int64(l.env.Wait) {
		err = fmt.Errorf("%d of %d replicas have acknowledged it", have, l.env.Wait)
	}
	return err == nil, err
}
