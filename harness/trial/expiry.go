package trial

import (
	"context"
	"time"
)

// awaitExpiry waits until every expiring key of a node has expired, also a counter that lasts a day.
func (r *run) awaitExpiry(ctx context.Context, name string) error {
	node, ok := r.cluster.Node(name).(interface{ LongestTTL() time.Duration })
	if !ok {
		return preconditionErrorf("%s runs in real time: its keys may take days to expire", name)
	}
	return r.cluster.Sleep(ctx, node.LongestTTL())
}
