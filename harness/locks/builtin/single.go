package builtin

import (
	"context"

	"example.org/lockproof/harness/locks"
	"github.com/redis/go-redis/v9"
)

func init() {
	locks.Register(locks.Kind{
		Name:      "single",
		Doc:       "one node, done well: SET NX PX, compare-and-delete by script; a single point of failure",
		New:       newSingle,
		Abilities: locks.Abilities{OwnClock: true, Extends: true, SingleNode: true}, Waits: true,
	})
}

// compareAndDelete deletes the key if its value is still ours, in one step.
// Source: redis.io, "Correct implementation with a single instance".
// KEYS: the lock. ARGV: the token.
var compareAndDelete = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// compareAndExpire gives the key a new expiry if its value is still ours.
// KEYS: the lock. ARGV: the token, the time to live in milliseconds.
var compareAndExpire = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`)

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

// setNX takes the key with its expiry in one command.
func (l *nodeLock) setNX(ctx context.Context, key, token string) (bool, error) {
	return l.node.SetNX(ctx, key, token, l.env.TTL).Result()
}

func (l *nodeLock) deleteOwn(ctx context.Context, key, token string) (bool, error) {
	return compareAndDelete.Run(ctx, l.node, []string{key}, token).Bool()
}

func (l *nodeLock) expireOwn(ctx context.Context, key, token string) (bool, error) {
	return compareAndExpire.Run(ctx, l.node, []string{key}, token, l.env.TTL.Milliseconds()).Bool()
}
