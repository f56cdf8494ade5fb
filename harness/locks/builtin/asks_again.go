package builtin

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
)

func init() {
	onOneNode("single-asks-again",
		"one node, naive: a lock without an answer is asked for again, and a key of its own counts as taken just now",
		func(env locks.Env) (locks.Lock, error) {
			l := newNodeLock(env)
			l.deleteKey = false
			l.acquire = l.setNXOrOwn
			return asksAgain{l}, nil
		})
}

// asksAgain keeps the token for all that one Acquire sends. It makes the mistake: each time that it asks,
// the lease counts from then, while the key may live from a time before.
type asksAgain struct{ *nodeLock }

func (l asksAgain) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	token, err := l.token()
	if err != nil {
		return nil, err
	}
	return locks.Retry(ctx, l.env, func() (locks.Lease, error) { return l.attemptWith(ctx, key, token) })
}

// setNXOrOwn takes the key, or finds that it is ours already.
func (l *nodeLock) setNXOrOwn(ctx context.Context, key, token string) (bool, error) {
	taken, err := l.setNX(ctx, key, token)
	if taken || err != nil {
		return taken, err
	}
	owner, err := l.node.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return owner == token, err
}
