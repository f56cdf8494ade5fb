package builtin

import (
	"context"
	"errors"

	"example.org/lockproof/harness/locks"
	"github.com/redis/go-redis/v9"
)

func init() {
	locks.Register(locks.Kind{
		Name:     "get-then-del",
		Doc:      "one node, naive: release is GET, compare, DEL: between the two the owner can change",
		New:      nodeLockWith(func(l *nodeLock) { l.acquire, l.release = l.setNX, l.getThenDelete }),
		OwnClock: true, SingleNode: true,
	})
}

// getThenDelete is the mistake: the key can expire and be taken by another
// after the GET and before the DEL.
func (l *nodeLock) getThenDelete(ctx context.Context, key, token string) (bool, error) {
	owner, err := process(ctx, l.node, redis.NewStringCmd(ctx, "get", key)).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil || owner != token {
		return false, err
	}
	return l.deleteAny(ctx, key, token)
}
