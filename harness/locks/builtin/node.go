package builtin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// nodeCall is an operation of a lock on its node. It reports whether it took effect.
type nodeCall func(ctx context.Context, key, token string) (bool, error)

// nodeLock is the common part of locks on one node: they differ in how they acquire and release.
type nodeLock struct {
	env  locks.Env
	node redis.UniversalClient
	conn *redis.Client // the node, for WAIT, which depends on one server's connection; otherwise nil
	// acquire sets key to token if it is free, with an expiry.
	acquire nodeCall
	// release deletes the key. It reports whether the key was still ours, as far as the lock checks that.
	release nodeCall
	// extend is nil if the lock has no extension.
	extend nodeCall
	// deleteKey: after an acquire or a release of unknown outcome the key is deleted in the background.
	deleteKey bool
	pending   sync.WaitGroup
}

// newNodeLock makes a lock with the correct commands.
func newNodeLock(env locks.Env) *nodeLock {
	l := &nodeLock{env: env, node: env.Nodes[0], deleteKey: true}
	l.acquire, l.release, l.extend = l.setNX, l.deleteOwn, l.expireOwn
	return l
}

type builder = func(locks.Env) (locks.Lock, error)

// onOneNode registers a lock on a single node that can extend a lease.
func onOneNode(name, doc string, build builder) {
	locks.Register(locks.Kind{Name: name, Doc: doc, New: build,
		Abilities: locks.Abilities{OwnClock: true, Extends: true, SingleNode: true}})
}

// naive registers a lock on one node with a mistake. It leaves behind a key of unknown state, and may have no
// extension.
func naive(name, doc string, extends bool, mistake func(*nodeLock)) {
	build := func(env locks.Env) (locks.Lock, error) {
		l := newNodeLock(env)
		l.deleteKey = false
		if !extends {
			l.extend = nil
		}
		mistake(l)
		return l, nil
	}
	locks.Register(locks.Kind{Name: name, Doc: doc, New: build,
		Abilities: locks.Abilities{OwnClock: true, Extends: extends, SingleNode: true}})
}

func (l *nodeLock) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	return locks.Retry(ctx, l.env, func() (locks.Lease, error) { return l.attempt(ctx, key) })
}

// attempt counts the TTL of its lease from before its command: the server counts from later, so it has the key at least
// as long.
func (l *nodeLock) attempt(ctx context.Context, key string) (locks.Lease, error) {
	token, err := l.token()
	if err != nil {
		return nil, err
	}
	start := l.env.Clock.Now()
	taken, err := l.call(ctx, key, token, l.acquire)
	if err != nil {
		l.cleanUp(ctx, key, token)
		return nil, locks.CallFailed(ctx, "take "+key, err)
	}
	if !taken {
		return nil, &locks.Error{Reason: history.ReasonHeld, Err: fmt.Errorf("%s is held by another", key)}
	}
	lease := &nodeLease{lock: l, key: key, token: token, until: start + l.env.TTL}
	if lease.Validity() <= 0 {
		l.cleanUp(ctx, key, token)
		return nil,
			&locks.Error{Reason: history.ReasonTooLate, Err: fmt.Errorf("%s was taken, but after the TTL of %s", key, l.env.TTL)}
	}
	return lease, nil
}

// call bounds one command by the node timeout.
func (l *nodeLock) call(ctx context.Context, key, token string, do nodeCall) (bool, error) {
	bounded, cancel := context.WithTimeout(ctx, l.env.NodeTimeout)
	defer cancel()
	return do(bounded, key, token)
}

func (l *nodeLock) cleanUp(ctx context.Context, key, token string) {
	if !l.deleteKey {
		return
	}
	l.pending.Go(func() {
		// If this fails too, the key expires by itself.
		_, _ = l.call(context.WithoutCancel(ctx), key, token, l.release)
	})
}

// tokenBytes is the number of random bytes of a token, here and in package redlock.
// Source: redis.io, "Correct implementation with a single instance".
const tokenBytes = 20

func (l *nodeLock) token() (string, error) {
	b := make([]byte, tokenBytes)
	if _, err := io.ReadFull(l.env.Rand, b); err != nil {
		return "", fmt.Errorf("draw a token: %w", err)
	}
	return hex.EncodeToString(b), nil
}

func (l *nodeLock) Close() error {
	l.pending.Wait()
	return nil
}

type nodeLease struct {
	lock       *nodeLock
	key, token string
	mu         sync.Mutex
	until      time.Duration // on the client's own clock
	released   bool
}

func (l *nodeLease) Token() string { return l.token }
func (l *nodeLease) Fence() int64  { return 0 }

func (l *nodeLease) Validity() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until - l.lock.env.Clock.Now()
}

func (l *nodeLease) Extend(ctx context.Context) error {
	if l.lock.extend == nil {
		return &locks.Error{Reason: history.ReasonRefused, Err: errors.New("this lock cannot extend a lease")}
	}
	start := l.lock.env.Clock.Now()
	ours, err := l.lock.call(ctx, l.key, l.token, l.lock.extend)
	if err != nil {
		return locks.CallFailed(ctx, "extend "+l.key, err)
	}
	if !ours {
		return l.lostError()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = start + l.lock.env.TTL
	return nil
}

func (l *nodeLease) Release(ctx context.Context) error {
	l.mu.Lock()
	again := l.released
	l.released = true
	l.mu.Unlock()
	if again {
		return &locks.Error{Reason: history.ReasonLost, Err: fmt.Errorf("the lease on %s was released before", l.key)}
	}
	ours, err := l.lock.call(ctx, l.key, l.token, l.lock.release)
	if err != nil {
		l.lock.cleanUp(ctx, l.key, l.token)
		return locks.CallFailed(ctx, "release "+l.key, err)
	}
	if !ours {
		return l.lostError()
	}
	return nil
}

func (l *nodeLease) lostError() error {
	return &locks.Error{Reason: history.ReasonLost, Err: fmt.Errorf("the key %s is not ours any more", l.key)}
}
