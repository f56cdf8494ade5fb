package builtin

import (
	"context"
)

func init() {
	naive("setnx-expire",
		"one node, naive: SETNX and PEXPIRE are two commands; a client that dies between them locks for ever",
		false, func(l *nodeLock) { l.acquire = l.setThenExpire })
}

// setThenExpire is the mistake: a failure between the two commands leaves a key that never expires. SETNX's own page
// advised it before Redis 2.6.12 added SET NX PX.
func (l *nodeLock) setThenExpire(ctx context.Context, key, token string) (bool, error) {
	taken, err := l.node.SetNX(ctx, key, token, 0).Result()
	if err != nil || !taken {
		return false, err
	}
	return l.node.PExpire(ctx, key, l.env.TTL).Result()
}
