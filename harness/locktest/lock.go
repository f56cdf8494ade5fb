package locktest

import (
	"context"
	"errors"
	"time"
)

// Lock is a lock under test as one client sees it.
type Lock interface {
	// Acquire takes key for Env.TTL. It may wait until ctx ends; one that fails
	// before is called again after a random delay, as callers do.
	Acquire(ctx context.Context, key string) (Lease, error)
}

// LockFunc is a lock that is an Acquire and nothing else.
type LockFunc func(ctx context.Context, key string) (Lease, error)

// Acquire calls f.
func (f LockFunc) Acquire(ctx context.Context, key string) (Lease, error) { return f(ctx, key) }

// Lease is what an Acquire grants.
type Lease interface {
	Release(ctx context.Context) error
}

// ReleaseFunc is a lease that is a Release and nothing else.
type ReleaseFunc func(ctx context.Context) error

// Release calls f.
func (f ReleaseFunc) Release(ctx context.Context) error { return f(ctx) }

// What a lock may have besides.
type (
	// Closer is a lock that has something to end: connections that Env.Client did
	// not make, what goes on in the background. In virtual time nothing may be
	// left.
	Closer interface{ Close() error }
	// Keyed is a lock whose keys have other names on the servers: it gives all of
	// them. The story then tells of a key by the name that callers have for it, if it
	// has one name only.
	Keyed interface{ Keys(key string) []string }
)

// What a lease may have besides. Scenarios that need what it has not are skipped,
// and say so.
type (
	// Extender prolongs the lease by Env.TTL from now.
	Extender interface {
		Extend(ctx context.Context) error
	}
	// Valid says for how much longer the lease is to be relied on.
	Valid interface{ Validity() time.Duration }
	// Expiring says until when, on the machine's clock.
	Expiring interface{ Until() time.Time }
	// Tokened gives the value that is stored at the key: the story then tells
	// whose key is where.
	Tokened interface{ Token() string }
	// Fenced gives the fencing token, from 1.
	Fenced interface{ Fence() int64 }
	// Contextual gives a context that ends with the lease. It is watched from the
	// grant on.
	Contextual interface{ Context() context.Context }
)

// Errors that an adapter may wrap, for the story to say why.
var (
	// ErrHeld: another has the lock.
	ErrHeld = errors.New("held by another")
	// ErrLost: the lease was over before it was released or extended. Of a release
	// that fails otherwise nobody knows what became of it.
	ErrLost = errors.New("not ours any more")
	// ErrRefused: the lock cannot be set up so, with that many servers, say. It is New's to return.
	ErrRefused = errors.New("the lock refuses this setup")
	// ErrNoRelease: the lock has no release, and time alone ends its leases.
	ErrNoRelease = errors.New("this lock has no release")
)
