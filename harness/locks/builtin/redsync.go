package builtin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func init() {
	locks.Register(locks.Kind{
		Name:      "redsync",
		Doc:       "go-redsync/redsync v4.18.0, unmodified, with its own timeout for a node: a twentieth of the TTL",
		New:       newRedsync,
		Abilities: locks.Abilities{Extends: true}, Majority: true,
	})
}

// redsyncLock is redsync with its usual set-up. Only the sources of randomness are replaced, so that a run in virtual
// time is repeatable. It reads Go's own clock: a client's skew does not affect it.
type redsyncLock struct {
	env  locks.Env
	sync *redsync.Redsync
}

func newRedsync(env locks.Env) (locks.Lock, error) {
	pools := make([]redsyncredis.Pool, len(env.Nodes))
	for i, n := range env.Nodes {
		pools[i] = goredis.NewPool(n)
	}
	return &redsyncLock{env: env, sync: redsync.New(pools...)}, nil
}

func (l *redsyncLock) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	tries := l.env.Tries
	if tries == 0 {
		tries = math.MaxInt // until ctx ends
	}
	mutex := l.sync.NewMutex(key, redsync.WithExpiry(l.env.TTL), redsync.WithTries(tries),
		redsync.WithDriftFactor(l.env.Drift), redsync.WithRetryDelayFunc(l.delay), redsync.WithGenValueFunc(l.value))
	if err := mutex.LockContext(ctx); err != nil {
		return nil, redsyncError(ctx, err, history.ReasonHeld)
	}
	return &redsyncLease{mutex}, nil
}

// delay falls back to the midpoint: redsync's function cannot return an error.
func (l *redsyncLock) delay(int) time.Duration {
	d, err := locks.RandomBetween(l.env.Rand, l.env.RetryMin, l.env.RetryMax)
	if err != nil {
		return (l.env.RetryMin + l.env.RetryMax) / 2
	}
	return d
}

// value imitates redsync's own tokens.
func (l *redsyncLock) value() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(l.env.Rand, b); err != nil {
		return "", fmt.Errorf("draw a token: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// Close has nothing to wait for: redsync waits for every node before it returns.
func (l *redsyncLock) Close() error { return nil }

type redsyncLease struct{ mutex *redsync.Mutex }

func (l *redsyncLease) Token() string           { return l.mutex.Value() }
func (l *redsyncLease) Fence() int64            { return 0 }
func (l *redsyncLease) Validity() time.Duration { return time.Until(l.mutex.Until()) }

func (l *redsyncLease) Extend(ctx context.Context) error {
	ok, err := l.mutex.ExtendContext(ctx)
	return redsyncOutcome(ctx, ok, err)
}

func (l *redsyncLease) Release(ctx context.Context) error {
	ok, err := l.mutex.UnlockContext(ctx)
	return redsyncOutcome(ctx, ok, err)
}

func redsyncOutcome(ctx context.Context, ok bool, err error) error {
	if ok {
		return nil
	}
	if err == nil {
		err = errors.New("redsync gave no cause")
	}
	return redsyncError(ctx, err, history.ReasonLost)
}

// redsyncError gives redsync's errors their reason; taken is the reason if the nodes hold another value. ErrFailed
// means that a majority agreed too late, or that the context ended before a retry.
func redsyncError(ctx context.Context, err error, taken string) error {
	reason := history.ReasonOther
	_, majorityTaken := errors.AsType[*redsync.ErrTaken](err)
	_, nodeTaken := errors.AsType[*redsync.ErrNodeTaken](err)
	_, nodeFailed := errors.AsType[*redsync.RedisError](err)
	switch {
	case ctx.Err() != nil:
		reason = history.ReasonCancelled
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case majorityTaken, errors.Is(err, redsync.ErrLockAlreadyExpired):
		reason = taken
	case nodeFailed:
		reason = history.ReasonNoMajority
	case nodeTaken:
		reason = taken
	case errors.Is(err, redsync.ErrFailed), errors.Is(err, redsync.ErrExtendFailed):
		reason = history.ReasonTooLate
	}
	return &locks.Error{Reason: reason, Err: err}
}
