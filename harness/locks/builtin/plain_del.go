package builtin

import "context"

func init() {
	naive("plain-del",
		"one node, naive: release is a plain DEL, whoever the owner is by then",
		false, func(l *nodeLock) { l.release = l.deleteAny })
}

// deleteAny is the mistake: redis.io warns that a client which took longer
// than the TTL removes another client's lock this way.
func (l *nodeLock) deleteAny(ctx context.Context, key, _ string) (bool, error) {
	n, err := l.node.Del(ctx, key).Result()
	return n > 0, err
}
