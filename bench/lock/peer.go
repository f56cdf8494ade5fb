package lock

import (
	"context"
	"time"
)

// ttl is every lock's; all are released long before.
const ttl = 10 * time.Second

// peer is a measured lock, or bare commands.
type peer struct {
	name string
	open func(addrs []string) (locker, error)
	// oneNode: all its keys are on the first server, so that faults of other servers do not affect it.
	oneNode bool
	// bare: not a lock. It neither checks replies nor retries.
	bare bool
}

var peers = []peer{
	{name: "redlock", open: openRedlock},
	{name: "redsync", open: openRedsync},
	{name: "redsync FailFast", open: openRedsyncFailFast},
	{name: "rueidislock, 5 keys", open: openRueidislock, oneNode: true},
	{name: "raw go-redis", open: openGoRedis, bare: true},
	{name: "raw rueidis", open: openRueidis, bare: true},
}

// locker is a client of a lock, for concurrent callers.
type locker interface {
	// acquire waits until key is the caller's, or ctx ends.
	acquire(ctx context.Context, key string) (held, error)
	close() error
}

// held is a key that the caller holds.
type held interface {
	release(ctx context.Context) error
}

func majority(n int) int { return n/2 + 1 }
