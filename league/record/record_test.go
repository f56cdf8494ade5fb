// Package record runs old and mended releases of known libraries in the scenario of the defect: it must show the
// violation in the one and not in the other. docs/track-record.md has the table.
package record

import (
	"context"
	"errors"
	"os"
	"regexp"
	"testing"

	redislock091 "example.com/redislock/v0_9_1"
	redislock094 "example.com/redislock/v0_9_4"
	redsync404 "example.com/redsync/v4_0_4"
	redsync430 "example.com/redsync/v4_3_0"
	redsync444 "example.com/redsync/v4_4_4"
	redsync451 "example.com/redsync/v4_5_1"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/locktest"
)

// defects are listed with a release that has each and, if any, a release or an option without it; nil: none so far.
var defects = []struct {
	name, scenario string
	has, mended    locktest.New
}{
	{"redsync-fixed-delay", "retry-without-jitter", newRedsync404, newRedsync430},
	{"redsync-deaf-wait", "cancelled-wait", newRedsync430Slow, newRedsync444Slow},
	{"redsync-no-node-timeout", "hung-node", newRedsync444, newRedsync451},
	{"redislock-resent", "resent-set", newRedislock091, newRedislock094},
	{"redsync-waits-for-all", "hung-node", newRedsync(goRedis), newRedsync(goRedis, redsync.WithFailFast(true))},
	{"redsync-set-on-extend", "late-extension", newRedsync(boundGoRedis, redsync.WithSetNXOnExtend()),
		newRedsync(boundGoRedis)},
	{"redsync-one-token", "late-release", newRedsync(boundGoRedis, redsync.WithTimeoutFactor(0.05)), nil},
	{"redislock-late-set", "late-set", newRedislock094, nil},
}

func TestDefectiveRelease_IsViolated(t *testing.T) {
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			locktest.Run(t, d.has, locktest.Scenarios(d.scenario), locktest.Expect(d.scenario, locktest.Violated))
		})
	}
}

func TestMendedReleaseHolds(t *testing.T) {
	for _, d := range defects {
		if d.mended != nil {
			t.Run(d.name, func(t *testing.T) { locktest.Run(t, d.mended, locktest.Scenarios(d.scenario)) })
		}
	}
}

func TestDocumentNamesEachDefect(t *testing.T) {
	document, err := os.ReadFile("../../docs/track-record.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(.*?)` .*\\| `(.*?)` \\|").FindAllStringSubmatch(string(document), -1)
	documented := map[string]string{}
	for _, row := range rows {
		documented[row[1]] = row[2]
	}
	tested := map[string]string{}
	for _, d := range defects {
		tested[d.name] = d.scenario
	}
	require.Equal(t, tested, documented)
}

// mutex is redsync's in every release.
type mutex interface {
	LockContext(context.Context) error
	UnlockContext(context.Context) (bool, error)
	ExtendContext(context.Context) (bool, error)
}

type redsyncLease struct{ mutex }

func (l redsyncLease) Release(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}

func (l redsyncLease) Extend(ctx context.Context) error {
	_, err := l.ExtendContext(ctx)
	return err
}

func goRedis(env locktest.Env, i int) *redisv9.Client { return env.Client(i) }

// boundGoRedis obeys deadlines.
func boundGoRedis(env locktest.Env, i int) *redisv9.Client {
	return env.Client(i, func(o *redisv9.Options) { o.ContextTimeoutEnabled, o.MaxRetries = true, -1 })
}

// onRedsync makes a lock of redsync, on go-redis clients that obey deadlines.
func onRedsync(env locktest.Env, newMutex func(pools []redis.Pool, key string) mutex) (locktest.Lock, error) {
	return onClients(env, boundGoRedis, newMutex)
}

func onClients(env locktest.Env, client func(locktest.Env, int) *redisv9.Client,
	newMutex func(pools []redis.Pool, key string) mutex,
) (locktest.Lock, error) {
	var pools []redis.Pool
	for i := range env.Servers() {
		pools = append(pools, goredis.NewPool(client(env, i)))
	}
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		m := newMutex(pools, key)
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return redsyncLease{m}, nil
	}), nil
}

// newRedsync is the newest of these releases.
func newRedsync(client func(locktest.Env, int) *redisv9.Client, options ...redsync.Option) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		return onClients(env, client, func(pools []redis.Pool, key string) mutex {
			return redsync.New(pools...).NewMutex(key, append([]redsync.Option{redsync.WithExpiry(env.TTL)}, options...)...)
		})
	}
}

func newRedsync404(env locktest.Env) (locktest.Lock, error) {
	return onRedsync(env, func(pools []redis.Pool, key string) mutex {
		return redsync404.New(pools...).NewMutex(key, redsync404.WithExpiry(env.TTL))
	})
}

func newRedsync430(env locktest.Env) (locktest.Lock, error) {
	return onRedsync(env, func(pools []redis.Pool, key string) mutex {
		return redsync430.New(pools...).NewMutex(key, redsync430.WithExpiry(env.TTL))
	})
}

func newRedsync430Slow(env locktest.Env) (locktest.Lock, error) {
	return onRedsync(env, func(pools []redis.Pool, key string) mutex {
		return redsync430.New(pools...).NewMutex(key, redsync430.WithExpiry(env.TTL), redsync430.WithRetryDelay(2*env.TTL))
	})
}

func newRedsync444Slow(env locktest.Env) (locktest.Lock, error) {
	return onRedsync(env, func(pools []redis.Pool, key string) mutex {
		return redsync444.New(pools...).NewMutex(key, redsync444.WithExpiry(env.TTL), redsync444.WithRetryDelay(2*env.TTL))
	})
}

func newRedsync444(env locktest.Env) (locktest.Lock, error) {
	return onRedsync(env, func(pools []redis.Pool, key string) mutex {
		return redsync444.New(pools...).NewMutex(key, redsync444.WithExpiry(env.TTL))
	})
}

func newRedsync451(env locktest.Env) (locktest.Lock, error) {
	return onRedsync(env, func(pools []redis.Pool, key string) mutex {
		return redsync451.New(pools...).NewMutex(key, redsync451.WithExpiry(env.TTL))
	})
}

// Both releases of redislock use go-redis with its defaults, which resends.
func newRedislock091(env locktest.Env) (locktest.Lock, error) {
	client := redislock091.New(env.Client(0))
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lock, err := client.Obtain(ctx, key, env.TTL, nil)
		return obtained(lock, err, redislock091.ErrNotObtained)
	}), nil
}

func newRedislock094(env locktest.Env) (locktest.Lock, error) {
	client := redislock094.New(env.Client(0))
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lock, err := client.Obtain(ctx, key, env.TTL, nil)
		return obtained(lock, err, redislock094.ErrNotObtained)
	}), nil
}

// obtained distinguishes a held lock from other errors.
func obtained(lock locktest.Lease, err, held error) (locktest.Lease, error) {
	switch {
	case errors.Is(err, held):
		return nil, errors.Join(err, locktest.ErrHeld)
	case err != nil:
		return nil, err
	}
	return lock, nil
}
