package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
)

// takeAndWait acquires the key, and fails unless enough replicas have acknowledged it, or have it on their disks as the
// server has. It waits on the connection of the SET, or makes the mistake: WAIT on another pooled connection covers
// only that connection's writes.
func (l *nodeLock) takeAndWait(ctx context.Context, key, token string) (bool, error) {
	conn := l.conn.Conn()
	defer conn.Close()
	waiting := conn
	if l.env.Connection == locks.ConnectionPool {
		waiting = l.conn.Conn()
		defer waiting.Close()
	}
	taken, err := conn.SetNX(ctx, key, token, l.env.TTL).Result()
	if err != nil || !taken {
		return false, err
	}
	timeout := l.env.NodeTimeout / 2
	if l.env.WaitAOF {
		return l.waitAOF(waiting.WaitAOF(ctx, 1, l.env.Wait, timeout))
	}
	have, err := waiting.Wait(ctx, l.env.Wait, timeout).Result()
	if err == nil && have < int64(l.env.Wait) {
		err = fmt.Errorf("%d of %d replicas have acknowledged it", have, l.env.Wait)
	}
	return err == nil, err
}

// waitAOF fails unless WAITAOF reports the key on its server's disk, and on those of enough replicas.
func (l *nodeLock) waitAOF(wait *redis.IntSliceCmd) (bool, error) {
	have, err := wait.Result()
	switch {
	case err != nil:
	case len(have) != 2:
		err = fmt.Errorf("WAITAOF returned %v: want two numbers", have)
	case have[0] < 1:
		err = errors.New("its server does not have it on its disk")
	case have[1] < int64(l.env.Wait):
		err = fmt.Errorf("%d of %d replicas have it on their disks", have[1], l.env.Wait)
	}
	return err == nil, err
}
