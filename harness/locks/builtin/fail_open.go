package builtin

import (
	"context"

	"example.org/lockproof/harness/locks"
)

func init() {
	locks.Register(locks.Kind{
		Name:     "single-fail-open",
		Doc:      "one node, naive: an error while acquiring is taken for a yes, so that work goes on without Redis",
		New:      nodeLockWith(func(l *nodeLock) { l.acquire, l.release, l.extend = l.setOrFail, l.deleteOwn, l.expireOwn }),
		OwnClock: true, Extends: true, SingleNode: true,
	})
}

// setOrFail is the mistake: who gets no answer works on, and so does the holder.
func (l *nodeLock) setOrFail(ctx context.Context, key, token string) (bool, error) {
	taken, err := l.setNX(ctx, key, token)
	return taken || err != nil, nil
}
