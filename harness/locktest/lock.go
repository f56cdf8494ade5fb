package locktest

import (
	"context"
	"errors"
	"time"
)

// Lock is a lock under test as one client sees it.
type Lock interface {
	// Acquire acquires key for Env.TTL. It may wait until ctx ends. If it fails earlier, the harness calls it again
	// after a random delay, as callers do.
	Acquire(ctx context.Context, key string) (Lease, error)
}

// LockFunc is a lock with Acquire only.
type LockFunc func(ctx context.Context, key string) (Lease, error)

// Acquire calls f.
func (f LockFunc) Acquire(ctx context.Context, key string) (Lease, error) { return f(ctx, key) }

// Lease is the result of a successful Acquire.
type Lease interface {
	Release(ctx context.Context) error
}

// ReleaseFunc is a lease with Release only.
type ReleaseFunc func(ctx context.Context) error

// Release calls f.
func (f ReleaseFunc) Release(ctx context.Context) error { return f(ctx) }

// Optional methods of a lock.
type (
	// Closer closes connections that Env.Client did not make, and stops goroutines. In virtual time a goroutine that
	// still runs after Close fails the trial, unless LeavesBehind allows it.
	Closer interface{ Close() error }
	// Keyed is for a lock whose keys have other names on the servers: Keys lists all names of a key. If there is only
	// one, the story uses the caller's name for it.
	Keyed interface{ Keys(key string) []string }
)

// Optional methods of a lease. Scenarios that need an absent one are skipped, with the reason.
type (
	// Extender prolongs the lease by Env.TTL from now.
	Extender interface {
		Extend(ctx context.Context) error
	}
	// Valid returns the remaining time in which the holder may rely on the lease.
	Valid interface{ Validity() time.Duration }
	// Expiring returns the end of that time, on the machine's clock.
	Expiring interface{ Until() time.Time }
	// Tokened returns the value stored at the key: the story then shows which client has the key on each server.
	Tokened interface{ Token() string }
	// Fenced returns the fencing token, at least 1.
	Fenced interface{ Fence() int64 }
	// Contextual returns a context that ends with the lease. The harness watches it from the grant on.
	Contextual interface{ Context() context.Context }
)

// Errors that an adapter may wrap, so that the story can name the reason.
var (
	// ErrHeld: another client has the lock.
	ErrHeld = errors.New("held by another")
	// ErrLost: the lease ended before it was released or extended. A release that fails otherwise has an unknown
	// effect.
	ErrLost = errors.New("not ours any more")
	// ErrRefused is for New: the lock does not support this setup, for example this number of servers.
	ErrRefused = errors.New("the lock refuses this setup")
	// ErrNoRelease: the lock has no release; its leases end by expiry only.
	ErrNoRelease = errors.New("this lock has no release")
)
