package builtin

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
)

func init() {
	onOneNode("single-reentrant",
		"one node, naive: the owner is the process: whoever asks in the holder's process is let in", newReentrant)
}

// setFreeOrOwn sets the key, with a new expiry, if it is free or has the same owner.
// KEYS: the lock. ARGV: the token, the time to live in milliseconds.
var setFreeOrOwn = redis.NewScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// newReentrant makes the mistake: a process, a thread or a host is not an owner if several goroutines, coroutines or
// forks share it.
func newReentrant(env locks.Env) (locks.Lock, error) {
	lock, err := newProcessToken(env)
	if err != nil {
		return nil, err
	}
	l := lock.(*nodeLock)
	l.acquire = l.setFreeOrOwn
	return l, nil
}

func (l *nodeLock) setFreeOrOwn(ctx context.Context, key, token string) (bool, error) {
	return setFreeOrOwn.Run(ctx, l.node, []string{key}, token, l.env.TTL.Milliseconds()).Bool()
}
