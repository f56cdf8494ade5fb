package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is one tenure of the lock. It is safe for concurrent use.
type Lease struct {
	lock  *Redlock
	key   string
	token string
	ttl   time.Duration
	began time.Duration // reading of options.now before the first SET was sent
	sets  *poll         // the SETs that took it, of which some may be under way

	take, give []any // the commands that take and delete the key, for all nodes

	over      chan struct{} // closed by Release
	extending chan struct{} // holds one value while an Extend is under way

	back   sync.Once // see giveBack
	undone *poll

	mu         sync.Mutex
	deadline   time.Duration // reading of options.now at which validity ends
	extensions int           // sent so far
	released   bool
}

// newLease makes a lease that is still to be won.
func (r *Redlock) newLease(key, token string, ttl time.Duration) *Lease {
	return &Lease{
		lock: r, key: key, token: token, ttl: ttl,
		take: []any{"set", key, token, "nx", "get", "px", ttl.Milliseconds()},
		give: deleteIfOurs.call(key, token),
		over: make(chan struct{}), extending: make(chan struct{}, 1),
	}
}

// Key is the locked key.
func (l *Lease) Key() string { return l.key }

// Token is the value stored at the key: 40 hex digits. It names this tenure,
// but it is no fencing token: tokens have no order.
func (l *Lease) Token() string { return l.token }

// TTL is the expiry given to the key by the acquire and by each extension.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Validity is for how much longer the lock is held, on the lock's clock; not
// positive once it is over or released. Work on what the lock guards must have
// ended by then.
func (l *Lease) Validity() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return 0
	}
	return l.deadline - l.lock.now()
}

// Extend prolongs the lease to a whole TTL from now, less the margin. A
// majority must confirm it, and validity counts from before the first command
// was sent. A failed Extend leaves the validity as it was, but for ErrLost: a
// majority does not hold the key for us, so another may, and the lease is over;
// the keys that are left of it are released in the background. Calls are carried out one after another.
//
// A lease whose validity is over may be extended. Ownership decides: a key that
// still has our token has been ours without a break, for once gone it can only
// come back as another's, and while a majority of keys is ours no other client
// has one. The holder must have stopped in the meantime all the same, because
// it could not know.
func (l *Lease) Extend(ctx context.Context) error {
	r := l.lock
	if err := r.begin(); err != nil {
		return fmt.Errorf("redlock: extend %q: %w", l.key, err)
	}
	defer r.end()
	ctx, observed := r.observe(ctx, "extend", l.key, l.ttl)
	err := l.extend(ctx)
	if observed != nil {
		observed.done(1, l.Validity(), err)
	}
	return err
}

// extend is Extend once the lock has admitted it.
func (l *Lease) extend(ctx context.Context) error {
	r := l.lock
	p := newPoll(r.newBallot(l.extendQuorum(), (*ballot).agreed))
	select {
	case l.extending <- struct{}{}:
		defer func() { <-l.extending }()
	case <-ctx.Done():
		return r.failure("extend", l, &p.ballot, nil, ended(ctx))
	}
	if ctx.Err() != nil {
		return r.failure("extend", l, &p.ballot, nil, ended(ctx))
	}
	if err := l.countExtension(); err != nil {
		return fmt.Errorf("redlock: extend %q: %w", l.key, err)
	}
	start, before := r.now(), l.ends()
	r.ask(ctx, l, p, nil, "extend", (*node).extend)
	cut := r.collect(ctx, p, r.timeoutAt(l.ttl))
	if reason := l.prolong(&p.ballot, start, cut); reason != nil || cut != nil {
		if errors.Is(reason, ErrLost) {
			// Where the extension was carried out, the key would keep everybody out for
			// another TTL, and nobody believes in it.
			l.giveBack(ctx)
		}
		return r.failure("extend", l, &p.ballot, reason, cut)
	}
	if r.log != nil {
		r.warnIfClose(ctx, l, before-r.now())
		r.warnIfNarrow(ctx, l)
	}
	return nil
}

// ends is the reading of options.now at which validity ends.
func (l *Lease) ends() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

func (l *Lease) extendQuorum() int {
	if !l.lock.on(ExtendMajority) {
		return 1
	}
	return l.lock.need
}

// countExtension admits one more extension. Each one that is sent counts, for
// one whose replies are lost keeps the key from others all the same.
func (l *Lease) countExtension() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return ErrReleased
	}
	if r := l.lock; r.on(BoundedExtensions) && l.extensions >= r.maxExtensions {
		return fmt.Errorf("%w: it has had its %d extensions", ErrBounded, r.maxExtensions)
	}
	l.extensions++
	return nil
}

// prolong decides a ballot on an extension and, if it is won, moves the
// deadline.
func (l *Lease) prolong(b *ballot, start time.Duration, cut error) error {
	r := l.lock
	switch {
	case cut != nil:
		return nil
	case b.granted():
		deadline := r.deadline(start, l.ttl)
		if now := r.now(); deadline <= now {
			return tooLate(now-start, l.ttl)
		}
		l.mu.Lock()
		l.deadline = deadline
		l.mu.Unlock()
		return nil
	case b.counts[no] >= r.need:
		l.mu.Lock()
		l.deadline = min(l.deadline, r.now())
		l.mu.Unlock()
		return ErrLost
	default:
		return ErrNoMajority
	}
}
