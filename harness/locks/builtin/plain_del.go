package builtin

import (
	"context"

	"example.org/lockproof/harness/locks"
)

func init() {
	locks.Register(locks.Kind{
		Name:     "plain-del",
		Doc:      "one node, naive: release is a plain DEL, whoever the owner is by then",
		New:      nodeLockWith(func(l *nodeLock) { l.acquire, l.release = l.setNX, l.deleteAny }),
		OwnClock: true, SingleNode: true,
	})
}

// deleteAny is the mistake: redis.io warns that a client which took longer
// than the TTL removes another client's lock this way.
func (l *nodeLock) deleteAny(ctx context.Context, key, _ string) (bool, error) {
	n, err := l.node.Del(ctx, key).Result()
	return n > 0, err
}
