package docker

import (
	"context"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/docker/proxy"
	"example.org/lockproof/harness/history"
)

// remoteNetwork is the links in the proxy's container.
type remoteNetwork struct {
	*proxy.Client
	record func(history.Event)

	mu   sync.Mutex
	seen int   // how many events have been recorded
	err  error // why no more are
}

// followEvery is how often the proxy is asked for what has passed.
const followEvery = 50 * time.Millisecond

// follow records what passes, until ctx ends.
func (n *remoteNetwork) follow(ctx context.Context) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for n.Settle() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Settle records what has passed so far. A failure stays.
func (n *remoteNetwork) Settle() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.err == nil {
		var events []history.Event
		if events, n.err = proxy.Events.Send(context.Background(), n.Client, n.seen); len(events) == 0 {
			break
		}
		for _, e := range events {
			n.record(e)
		}
		n.seen += len(events)
	}
	return n.err
}
