package builtin

import (
	"context"
	"errors"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/batch"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/native"
	"example.org/lockproof/redlock/server"
)

func init() {
	locks.Register(locks.Kind{
		Name:      locks.Reference,
		Doc:       "the reference: Redlock as redis.io describes it, with every known correction",
		New:       func(env locks.Env) (locks.Lock, error) { return newReference(env, 0) },
		Abilities: redlockCan, Rules: true, Majority: true,
	})
}

// redlockCan are the abilities of the reference and its variants.
var redlockCan = locks.Abilities{OwnClock: true, Extends: true, Watches: true}

// reference adapts package redlock's lock.
type reference struct {
	lock *redlock.Redlock
	ttl  time.Duration
}

// newReference makes the lock on nodes with native commands and a guard against duplicate servers and, with a longest
// TTL, against restarts; more decorators come last.
func newReference(env locks.Env, longest time.Duration, more ...server.Decorator) (*reference, error) {
	options := redlock.Options{
		NodeTimeout: env.NodeTimeout, Drift: env.Drift, Tries: env.Tries, RetryMin: env.RetryMin, RetryMax: env.RetryMax,
		MaxExtensions: env.MaxExtensions, Clock: env.Clock, Rand: env.Rand,
	}
	for _, name := range env.Without {
		options.Without = append(options.Without, redlock.Rule(name))
	}
	var decorators []server.Decorator
	if env.NoPipelining {
		options.SetGrace = -1
	} else {
		decorators = append(decorators, batch.Pipelines)
	}
	decorators = append(decorators, native.Commands,
		guard.Servers(guard.Options{Longest: longest, Drift: env.Drift, Clock: env.Clock, Without: options.Without}))
	nodes, err := server.Nodes(env.Nodes, append(decorators, more...)...)
	if err != nil {
		return nil, &locks.Error{Reason: history.ReasonRefused, Err: err}
	}
	lock, err := redlock.New(nodes, options)
	if err != nil {
		return nil, &locks.Error{Reason: history.ReasonRefused, Err: err}
	}
	return &reference{lock: lock, ttl: env.TTL}, nil
}

func (r *reference) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := r.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func (r *reference) acquire(ctx context.Context, key string) (*referenceLease, error) {
	lease, err := r.lock.Acquire(ctx, key, r.ttl)
	if err != nil {
		return nil, redlockError(ctx, err)
	}
	return &referenceLease{lease}, nil
}

func (r *reference) Close() error { return r.lock.Close() }

type referenceLease struct{ lease *redlock.Lease }

func (l *referenceLease) Token() string           { return l.lease.Token() }
func (l *referenceLease) Fence() int64            { return 0 }
func (l *referenceLease) Validity() time.Duration { return l.lease.Validity() }

func (l *referenceLease) Extend(ctx context.Context) error {
	return redlockError(ctx, l.lease.Extend(ctx))
}

func (l *referenceLease) Release(ctx context.Context) error {
	return redlockError(ctx, l.lease.Release(ctx))
}

func (l *referenceLease) Watch(ctx context.Context, extend func(context.Context) error) context.Context {
	return l.lease.WatchBy(ctx, extend)
}

// redlockReasons is tried in order: an attempt that came too late may have nodes' errors as well.
var redlockReasons = []struct {
	sentinel error
	reason   string
}{
	{redlock.ErrDuplicateNode, history.ReasonRefused},
	{redlock.ErrBounded, history.ReasonExtensionLimit},
	{redlock.ErrReleased, history.ReasonLost},
	{redlock.ErrLost, history.ReasonLost},
	{redlock.ErrTooLate, history.ReasonTooLate},
	{redlock.ErrHeld, history.ReasonHeld},
	{redlock.ErrNoMajority, history.ReasonNoMajority},
	{redlock.ErrClosed, history.ReasonCancelled},
}

// redlockError gives redlock's errors their reason. Only the caller's own context shows a cancellation: a node's
// timeout is a deadline exceeded too.
func redlockError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &locks.Error{Reason: history.ReasonCancelled, Err: err}
	}
	for _, r := range redlockReasons {
		if errors.Is(err, r.sentinel) {
			return &locks.Error{Reason: r.reason, Err: err}
		}
	}
	return &locks.Error{Reason: history.ReasonOther, Err: err}
}
