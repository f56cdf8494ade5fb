package builtin

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock/server"
)

func init() {
	locks.Register(locks.Kind{
		Name:      "single",
		Doc:       "one node, done well: SET NX PX, compare-and-delete by script; a single point of failure",
		New:       newSingle,
		Abilities: locks.Abilities{OwnClock: true, Extends: true, SingleNode: true}, Waits: true,
	})
}

// compareAndDelete deletes the key if its value is still ours, and compareAndExpire gives it a new expiry.
var compareAndDelete, compareAndExpire = redis.NewScript(server.DeleteScript), redis.NewScript(server.ExpireScript)

func newSingle(env locks.Env) (locks.Lock, error) {
	l := newNodeLock(env)
	if env.WaitsForReplicas() {
		var one bool
		if l.conn, one = l.node.(*redis.Client); !one {
			return nil, locks.RefusalError("WAIT and WAITAOF are about a connection to one server, and %T has many", l.node)
		}
		l.acquire = l.takeAndWait
	}
	return l, nil
}

// setNX acquires the key with its expiry in one command.
func (l *nodeLock) setNX(ctx context.Context, key, token string) (bool, error) {
	return l.node.SetNX(ctx, key, token, l.env.TTL).Result()
}

func (l *nodeLock) deleteOwn(ctx context.Context, key, token string) (bool, error) {
	return compareAndDelete.Run(ctx, l.node, []string{key}, token).Bool()
}

func (l *nodeLock) expireOwn(ctx context.Context, key, token string) (bool, error) {
	return compareAndExpire.Run(ctx, l.node, []string{key}, token, l.env.TTL.Milliseconds()).Bool()
}
