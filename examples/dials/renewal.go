package dials

import (
	"context"
	"sync/atomic"
	"time"
)

// Renewed is a lease that is renewed until it is released.
type Renewed struct {
	*Lock
	released atomic.Bool
	stop     chan struct{}
}

// LockRenewed acquires a key and renews it until its release.
func (l *Locker) LockRenewed(ctx context.Context, key string, ttl time.Duration) (*Renewed, error) {
	lock, err := l.Lock(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	r := &Renewed{Lock: lock, stop: make(chan struct{})}
	go r.renew(context.WithoutCancel(ctx), ttl)
	return r, nil
}

// renew sets the key again after each third of a TTL. A renewal under way at the release restores the key: renew
// checks before its SET, and not after.
func (r *Renewed) renew(ctx context.Context, ttl time.Duration) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for !r.released.Load() {
		_, _ = r.by.do(ctx, "SET", r.key, r.token, "PX", ttl.Milliseconds())
		select {
		case <-tick.C:
		case <-r.stop:
			return
		case <-r.by.closed:
			return
		}
	}
}

// Release releases the key.
func (r *Renewed) Release(ctx context.Context) error {
	if !r.released.Swap(true) {
		close(r.stop)
	}
	return r.Lock.Release(ctx)
}
