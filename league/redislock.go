package league

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"

	"example.org/lockproof/harness/locktest"
)

func redisLocks() []Lock {
	return []Lock{{
		Name: "bsm/redislock", Test: "redislock", Module: "github.com/bsm/redislock", On: Single,
		SetUp:    "Obtain with no options, on go-redis 9 with its defaults, as in its README; Refresh extends",
		Belief:   undeclared,
		Promises: []Quote{{"Obtain tries to obtain a new lock using a key with the given TTL.", "redislock.go:61"}},
		Findings: []Finding{lateSet("redislock.go:85-91"),
			goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})},
		New: newRedisLock,
	}}
}

func newRedisLock(env locktest.Env) (locktest.Lock, error) {
	client := redislock.New(env.Client(0))
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		until := shortest(env, env.TTL)
		lock, err := client.Obtain(ctx, key, env.TTL, nil)
		if errors.Is(err, redislock.ErrNotObtained) {
			err = errors.Join(err, locktest.ErrHeld)
		}
		return &redisLockLease{lock, env, until}, err
	}), nil
}

type redisLockLease struct {
	*redislock.Lock // with Token
	env             locktest.Env
	until           time.Time
}

func (l *redisLockLease) Until() time.Time { return l.until }
func (l *redisLockLease) Extend(ctx context.Context) error {
	until := shortest(l.env, l.env.TTL)
	err := lost(l.Refresh(ctx, l.env.TTL, nil), redislock.ErrNotObtained)
	if err == nil {
		l.until = until
	}
	return err
}
func (l *redisLockLease) Release(ctx context.Context) error {
	return lost(l.Lock.Release(ctx), redislock.ErrLockNotHeld)
}

// lost wraps a library's error for an expired lease.
func lost(err, over error) error {
	if errors.Is(err, over) {
		return errors.Join(err, locktest.ErrLost)
	}
	return err
}
