package lock

import (
	"context"
	"time"
)

// ttl is every lock's; all of them release long before.
const ttl = 10 * time.Second

// peer is a lock to measure, or the bare commands of one.
type peer struct {
	name string
	open func(addrs []string) (locker, error)
	// oneNode: all its keys are on the first server, so that faults of another
	// one do not concern it.
	oneNode bool
	// bare: it is no lock. It neither checks what servers say nor tries again.
	bare bool
}

// peers are all that are measured; the first is ours.
var peers = []peer{
	{name: "redlock", open: openRedlock},
	{name: "redsync", open: openRedsync},
	{name: "redsync FailFast", open: openRedsyncFailFast},
	{name: "rueidislock, 5 keys", open: openRueidislock, oneNode: true},
	{name: "raw go-redis", open: openGoRedis, bare: true},
	{name: "raw rueidis", open: openRueidis, bare: true},
}

// locker is a client of a lock, for use by many callers at a time.
type locker interface {
	// acquire waits until key is the caller's, or ctx ends.
	acquire(ctx context.Context, key string) (held, error)
	close() error
}

// held is a key that is the caller's.
type held interface {
	release(ctx context.Context) error
}

// majority is how many of n servers must agree.
func majority(n int) int { return n/2 + 1 }
