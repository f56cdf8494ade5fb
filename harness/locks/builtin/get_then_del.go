package builtin

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

func init() {
	naive("get-then-del",
		"one node, naive: release is GET, compare, DEL: between the two the owner can change",
		false, func(l *nodeLock) { l.release = l.getThenDelete })
}

// getThenDelete is the mistake: between the GET and the DEL the key can expire, and another client can acquire it.
func (l *nodeLock) getThenDelete(ctx context.Context, key, token string) (bool, error) {
	owner, err := l.node.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil || owner != token {
		return false, err
	}
	return l.deleteAny(ctx, key, token)
}
