package locktest_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/locktest"
)

func spin() error {
	for turns := new(atomic.Int64); ; {
		turns.Add(1)
	}
}

// unreleased is a lock whose leases end by expiry only.
func unreleased(env locktest.Env) (locktest.Lock, error) {
	client := env.Client(0, noRetries)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		taken, err := client.SetNX(ctx, key, rand.Text(), env.TTL).Result()
		if err == nil && !taken {
			err = locktest.ErrHeld
		}
		return locktest.ReleaseFunc(func(context.Context) error { return locktest.ErrNoRelease }), err
	}), nil
}

// leaving is a lock on a library without a Close. With own, it also leaks a goroutine of its own.
func leaving(own bool) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		never := make(chan struct{})
		new(errgroup.Group).Go(func() error {
			<-never
			return nil
		})
		if own {
			go func() { <-never }()
		}
		return good(env)
	}
}

// onOne is a lock on one server in a few lines, as in many services.
func onOne(token func() string, release string) locktest.New { return onOneFor(0, token, release) }

// onOneFor is onOne, and waits so long for a reply; 0: for a node's timeout. On a busy machine a command whose client
// gives up may not arrive.
func onOneFor(reading time.Duration, token func() string, release string) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0, noRetries, func(o *redis.Options) {
			o.ReadTimeout = cmp.Or(reading, env.NodeTimeout)
		})
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			mine := token()
			giveBack := func(ctx context.Context) error { return client.Eval(ctx, release, []string{key}, mine).Err() }
			taken, err := client.SetNX(ctx, key, mine, env.TTL).Result()
			switch {
			case err != nil: // the SET may have taken effect
				_ = giveBack(context.WithoutCancel(ctx))
				return nil, err
			case !taken:
				return nil, locktest.ErrHeld
			}
			return locktest.ReleaseFunc(giveBack), nil
		}), nil
	}
}

// unhurried is onOne, and retries after a time that does not depend on the TTL.
func unhurried(env locktest.Env) (locktest.Lock, error) {
	lock, err := onOne(rand.Text, owned)(env)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		for {
			lease, err := lock.Acquire(ctx, key)
			if !errors.Is(err, locktest.ErrHeld) {
				return lease, err
			}
			select {
			case <-ctx.Done():
				return nil, locktest.ErrHeld
			case <-time.After(2 * time.Second):
			}
		}
	}), err
}

// byScript is a lock on one server that acquires by a script, retries inside Acquire, and releases after a failed
// attempt. token draws an attempt's token.
func byScript(token func() func() string) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0, noRetries, func(o *redis.Options) { o.ReadTimeout = env.NodeTimeout })
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			for draw := token(); ; {
				mine := draw()
				giveBack := func(ctx context.Context) error { return compareAndDelete.Run(ctx, client, []string{key}, mine).Err() }
				err := takeOrExtend.Run(ctx, client, []string{key}, mine, len(mine), env.TTL.Milliseconds()).Err()
				if err == nil {
					return locktest.ReleaseFunc(giveBack), nil
				}
				if !errors.Is(err, redis.Nil) { // the script may have taken effect
					go func() { _ = giveBack(env.Context()) }()
				}
				if ctx.Err() != nil {
					return nil, locktest.ErrHeld
				}
				time.Sleep(env.RetryMax)
			}
		}), nil
	}
}

// oneToken draws one token for all attempts of an acquire.
func oneToken() func() string {
	mine := rand.Text()
	return func() string { return mine }
}

var takeOrExtend = redis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) or redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[3])
	return redis.status_reply('OK')
end
return false`)

// fenced is onOne with fencing tokens, which token derives from a counter on the server.
func fenced(token func(count int64) int64) locktest.New {
	return counted(func(ctx context.Context, client *redis.Client, counter string) (int64, error) {
		count, err := client.Incr(ctx, counter).Result()
		return token(count), err
	})
}

type fencedLease struct {
	locktest.Lease
	fence int64
}

func (l fencedLease) Fence() int64 { return l.fence }

// prefixed is onOne with a prefix to the keys.
type prefixed struct{ locktest.Lock }

func (l prefixed) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	return l.Lock.Acquire(ctx, "lock:"+key)
}

func (l prefixed) Keys(key string) []string { return []string{"lock:" + key} }

func prefixing(env locktest.Env) (locktest.Lock, error) {
	lock, err := onOne(rand.Text, plain)(env)
	return prefixed{lock}, err
}

// wholeSeconds is onOne with an expiry in whole seconds, rounded down.
func wholeSeconds(env locktest.Env) (locktest.Lock, error) {
	env.TTL = env.TTL.Truncate(time.Second)
	return onOne(rand.Text, owned)(env)
}

// ignoring is onOne that sends another command, and ignores why that fails: before it acquires, or if the lock is held.
func ignoring(atOnce bool, command ...any) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		lock, err := onOne(rand.Text, owned)(env)
		client := env.Client(0, noRetries)
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			if atOnce || client.Exists(ctx, key).Val() > 0 {
				_ = client.Do(ctx, command...).Err()
			}
			return lock.Acquire(ctx, key)
		}), err
	}
}

// onOneKey is onOne with the same key for all callers' keys.
func onOneKey(env locktest.Env) (locktest.Lock, error) {
	lock, err := onOne(rand.Text, owned)(env)
	return locktest.LockFunc(func(ctx context.Context, _ string) (locktest.Lease, error) {
		return lock.Acquire(ctx, "lock")
	}), err
}

const (
	owned = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	plain = `return redis.call('DEL', KEYS[1])`
)

// watching is onOne with leases that extend themselves. Their context ends at the first extension that is lost.
func watching(lost func(extended bool, err error) bool) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		lock, err := onOne(rand.Text, owned)(env)
		client := env.Client(0, noRetries, func(o *redis.Options) {
			o.ReadTimeout, o.DialTimeout = env.NodeTimeout,
				env.NodeTimeout
		})
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			lease, err := lock.Acquire(ctx, key)
			if err != nil {
				return nil, err
			}
			kept, cancel := context.WithCancel(env.Context())
			go func() {
				for kept.Err() == nil {
					time.Sleep(env.TTL / 4)
					if lost(client.PExpire(kept, key, env.TTL).Result()) {
						cancel()
					}
				}
			}()
			return &watchedLease{lease, kept, cancel}, nil
		}), err
	}
}

type watchedLease struct {
	locktest.Lease
	kept   context.Context
	cancel context.CancelFunc
}

func (l *watchedLease) Context() context.Context { return l.kept }

func (l *watchedLease) Release(ctx context.Context) error {
	defer l.cancel()
	return l.Lease.Release(ctx)
}

// renewing is SETNX with a goroutine that prolongs the key: until the lease is released or its client ends, or
// forever.
func renewing(ends bool) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0)
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			if taken, err := client.SetNX(ctx, key, "taken", env.TTL).Result(); err != nil || !taken {
				return nil, locktest.ErrHeld
			}
			kept, cancel := context.WithCancel(env.Context())
			if !ends {
				kept, cancel = context.Background(), func() {}
			}
			go func() {
				for kept.Err() == nil {
					select {
					case <-kept.Done():
					case <-time.After(env.TTL / 3):
						client.PExpire(kept, key, env.TTL)
					}
				}
			}()
			return locktest.ReleaseFunc(func(ctx context.Context) error {
				cancel()
				return client.Del(ctx, key).Err()
			}), nil
		}), nil
	}
}

var safety = locktest.Properties("mutual-exclusion")

var few = locktest.Scenarios("healthy-contention", "restart-without-persistence")

// refusing is the reference, but on an even number of servers.
func refusing(env locktest.Env) (locktest.Lock, error) {
	if len(env.Servers())%2 == 0 {
		return nil, locktest.ErrRefused
	}
	return good(env)
}

// acquiring is a lock whose every acquire calls do.
func acquiring(do func() error) locktest.New {
	return func(locktest.Env) (locktest.Lock, error) {
		return locktest.LockFunc(func(context.Context, string) (locktest.Lease, error) { return nil, do() }), nil
	}
}
