package builtin

import "context"

func init() {
	naive("single-fail-open",
		"one node, naive: an error while acquiring is taken for a yes, so that work goes on without Redis",
		true, func(l *nodeLock) { l.acquire = l.setOrFail })
}

// setOrFail is the mistake: a client without a reply continues, and so does the holder.
func (l *nodeLock) setOrFail(ctx context.Context, key, token string) (bool, error) {
	taken, err := l.setNX(ctx, key, token)
	return taken || err != nil, nil
}
