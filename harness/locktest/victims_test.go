package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/locktest"
)

// misbehaving does something bad when the lock is refused for the first time by a
// client that is alone with it: in restart-without-persistence, not where clients
// contend.
func misbehaving(bad func()) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		return &panics{&counting{env.Clients(noRetries), env}, bad}, nil
	}
}

type panics struct {
	*counting
	bad func()
}

func (l *panics) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	for _, node := range l.nodes {
		if info, err := node.Exists(ctx, "never").Result(); info != 0 || err != nil {
			l.bad()
		}
	}
	return l.counting.Acquire(ctx, key)
}

// unreleased is a lock that time alone ends.
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

// leaving is a lock on a library without a Close; and with a goroutine of its own that it leaves behind, too.
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

// onOne is a lock on one server, in the few lines that services have.
func onOne(token func() string, release string) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0, noRetries, func(o *redis.Options) { o.ReadTimeout = env.NodeTimeout })
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			mine := token()
			giveBack := func(ctx context.Context) error { return client.Eval(ctx, release, []string{key}, mine).Err() }
			taken, err := client.SetNX(ctx, key, mine, env.TTL).Result()
			switch {
			case err != nil: // it may have been taken
				_ = giveBack(context.WithoutCancel(ctx))
				return nil, err
			case !taken:
				return nil, locktest.ErrHeld
			}
			return locktest.ReleaseFunc(giveBack), nil
		}), nil
	}
}

// byScript is a lock on one server that takes its key by a script, tries again by
// itself, and gives back what a try may have taken; token draws one for a try.
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
				if !errors.Is(err, redis.Nil) { // it may have been taken
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

var takeOrExtend = redis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) or redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[3])
	return redis.status_reply('OK')
end
return false`)

// fenced is onOne with a fencing token for each lease, which token makes of a counter
// beside the key.
func fenced(token func(count int64) int64) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		lock, err := onOne(rand.Text, owned)(env)
		client := env.Client(0, noRetries)
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			lease, err := lock.Acquire(ctx, key)
			if err != nil {
				return nil, err
			}
			count, err := client.Incr(ctx, "fence:"+key).Result()
			if err != nil {
				_ = lease.Release(context.WithoutCancel(ctx))
				return nil, err
			}
			return fencedLease{lease, token(count)}, nil
		}), err
	}
}

type fencedLease struct {
	locktest.Lease
	fence int64
}

func (l fencedLease) Fence() int64 { return l.fence }

// prefixed is onOne with keys that have another name on the server.
type prefixed struct{ locktest.Lock }

func (l prefixed) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	return l.Lock.Acquire(ctx, "lock:"+key)
}

func (l prefixed) Keys(key string) []string { return []string{"lock:" + key} }

const (
	owned = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	plain = `return redis.call('DEL', KEYS[1])`
)

// watching is onOne with leases that keep themselves extended, and have a context that
// ends when that fails, if they tell.
func watching(tells bool) locktest.New {
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
					if err := client.PExpire(kept, key, env.TTL).Err(); err != nil && tells {
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

// renewing is SETNX with a goroutine that prolongs the key, until the lease is released or its client ends; or for
// ever.
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

// TestVictims is run by other tests, in a process of its own.
func TestVictims(t *testing.T) {
	if os.Getenv(victimsVariable) == "" {
		return // its locks are bad: other tests run it
	}
	for name, test := range map[string]func(*testing.T){
		"from-return": func(t *testing.T) {
			locktest.Run(t, majority, locktest.Believes(locktest.FromReturn), locktest.Trials(2), locktest.Seed(7),
				locktest.Scenarios("healthy-contention", "slow-acquire", "pause-in-acquire", "late-release"),
				locktest.Properties("mutual-exclusion"))
		},
		"expected-in-vain": func(t *testing.T) {
			locktest.Run(t, majority, safety, locktest.Scenarios("healthy-contention"), locktest.Expect("healthy-contention",
				locktest.Violated))
		},
		"limit": func(t *testing.T) { locktest.Run(t, onOne(rand.Text, owned), safety, locktest.Scenarios("flushall")) },
		"strict": func(t *testing.T) {
			locktest.Run(t, onOne(rand.Text, owned), safety, locktest.Scenarios("flushall"), locktest.Strict())
		},
		"on-three": func(t *testing.T) {
			locktest.Run(t, good, safety, locktest.Nodes(3), locktest.Scenarios("late-release", "quorum-erosion",
				"failover-lock"))
		},
		"extends-in-vain": func(t *testing.T) { locktest.Run(t, extendsInVain, few) },
		"refuses": func(t *testing.T) {
			locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
				if len(env.Servers())%2 == 0 {
					return nil, locktest.ErrRefused
				}
				return good(env)
			}, safety, locktest.Scenarios("half-is-not-majority", "healthy-contention"))
		},
		"no-release": func(t *testing.T) { locktest.Run(t, unreleased, few) },
		"leaves-behind": func(t *testing.T) {
			locktest.Run(t, leaving(false), few, locktest.LeavesBehind("golang.org/x/sync"), locktest.Explore(time.Second))
		},
		"leaves-own-behind": func(t *testing.T) {
			locktest.Run(t, leaving(true), few, locktest.LeavesBehind("golang.org/x/sync"))
		},
		"allows-own-behind": func(t *testing.T) {
			locktest.Run(t, leaving(true), few, locktest.LeavesBehind("example.org/lockproof/harness/locktest_test"))
		},
		"leaks":     func(t *testing.T) { locktest.Run(t, renewing(false), few) },
		"renews":    func(t *testing.T) { locktest.Run(t, renewing(true), few) },
		"plain-del": func(t *testing.T) { locktest.Run(t, onOne(rand.Text, plain), safety) },
		"extends-if-owned": func(t *testing.T) {
			locktest.Run(t, extending(extendIfOwned), locktest.Scenarios("extend-without-owner"))
		},
		"extends-by-set-xx": func(t *testing.T) {
			locktest.Run(t, extending(extendBySetXX), locktest.Scenarios("extend-without-owner"))
		},
		"shares-a-pool": func(t *testing.T) {
			locktest.Run(t, sharing(&sync.Once{}), locktest.Scenarios("holder-crashes"))
		},
		"on-one-from-return": func(t *testing.T) {
			locktest.Run(t, onOne(rand.Text, owned), safety, locktest.Believes(locktest.FromReturn))
		},
		"explored": func(t *testing.T) {
			locktest.Run(t, deletingAll, safety, locktest.Scenarios("restart-without-persistence"),
				locktest.Explore(time.Minute))
		},
		"explored-mended": func(t *testing.T) {
			locktest.Run(t, good, safety, few, locktest.Explore(3*time.Second))
		},
		"explored-panics": func(t *testing.T) {
			locktest.Run(t, panicking, few, locktest.Explore(time.Minute))
		},
		"explored-on-one": func(t *testing.T) {
			locktest.Run(t, onOne(rand.Text, owned), safety, few, locktest.Believes(locktest.FromCall),
				locktest.Explore(5*time.Second))
		},
		"explored-in-real-time": func(t *testing.T) {
			locktest.Run(t, good, locktest.On("local"), locktest.Explore(time.Minute))
		},
		"told-in-time": func(t *testing.T) {
			locktest.Run(t, watching(true), safety, locktest.Scenarios("watchdog-cut-off"),
				locktest.Believes(locktest.UntilReleased))
		},
		"told-too-late": func(t *testing.T) {
			locktest.Run(t, watching(false), safety, locktest.Scenarios("watchdog-cut-off"),
				locktest.Believes(locktest.UntilReleased))
		},
		"fence-grows": func(t *testing.T) {
			locktest.Run(t, fenced(func(count int64) int64 { return count }), locktest.Scenarios("client-pause-fenced"))
		},
		"fence-shrinks": func(t *testing.T) {
			locktest.Run(t, fenced(func(count int64) int64 { return 1000 - count }), locktest.Scenarios("client-pause-fenced"))
		},
		"fence-stays": func(t *testing.T) {
			locktest.Run(t, fenced(func(int64) int64 { return 7 }), locktest.Scenarios("client-pause-fenced"))
		},
		"no-fence": func(t *testing.T) {
			locktest.Run(t, onOne(rand.Text, owned), locktest.Scenarios("client-pause-fenced"))
		},
		"prefixed": func(t *testing.T) {
			locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
				lock, err := onOne(rand.Text, plain)(env)
				return prefixed{lock}, err
			}, safety, locktest.Scenarios("release-by-plain-del"))
		},
		"by-script-one-token": func(t *testing.T) {
			locktest.Run(t, byScript(func() func() string { mine := rand.Text(); return func() string { return mine } }), safety,
				locktest.Scenarios("late-release", "slow-acquire"), locktest.Believes(locktest.FromCall))
		},
		"by-script-fresh-tokens": func(t *testing.T) {
			locktest.Run(t, byScript(func() func() string { return rand.Text }), safety,
				locktest.Scenarios("late-release", "slow-acquire"), locktest.Believes(locktest.FromCall))
		},
		"deaf":  func(t *testing.T) { locktest.Run(t, deaf, locktest.Scenarios("cancelled-wait")) },
		"stuck": func(t *testing.T) { locktest.Run(t, stuck, locktest.Scenarios("cancelled-wait")) },
		"in-turn": func(t *testing.T) {
			locktest.Run(t, inTurn, locktest.Scenarios("hung-node", "restart-without-persistence", "delayed-restart",
				"restart-delay-too-short", "late-set", "lost-reply"))
		},
		"patient": func(t *testing.T) {
			locktest.Run(t, patient, locktest.Scenarios("hung-node", "restart-without-persistence", "late-release",
				"lost-reply"))
		},
		"real-time": func(t *testing.T) {
			locktest.Run(t, onOne(rand.Text, plain), safety, locktest.Scenarios("client-pause", "release-by-plain-del"),
				locktest.RealTime())
		},
		"panics": func(t *testing.T) {
			locktest.Run(t, misbehaving(func() { panic("nobody thought of this") }), few)
		},
		"spins": func(t *testing.T) {
			var turns atomic.Int64
			spin := func() {
				for {
					turns.Add(1)
				}
			}
			locktest.Run(t, misbehaving(spin), few, locktest.ProgressTimeout(time.Second))
		},
		"always-panics": func(t *testing.T) {
			locktest.Run(t, func(locktest.Env) (locktest.Lock, error) {
				return locktest.LockFunc(func(context.Context, string) (locktest.Lease, error) { panic("always") }), nil
			})
		},
		"never-granted": func(t *testing.T) {
			locktest.Run(t, func(locktest.Env) (locktest.Lock, error) {
				return locktest.LockFunc(func(context.Context, string) (locktest.Lease, error) {
					return nil, errors.New("out of order")
				}), nil
			})
		},
		"not-made": func(t *testing.T) {
			locktest.Run(t, func(locktest.Env) (locktest.Lock, error) { return nil, errors.New("no licence") })
		},
		"nothing-made": func(t *testing.T) {
			locktest.Run(t, func(locktest.Env) (locktest.Lock, error) { return nil, nil })
		},
		"untold":           func(t *testing.T) { locktest.Run(t, majority, locktest.Believes(locktest.ByLease)) },
		"no-such-scenario": func(t *testing.T) { locktest.Run(t, majority, locktest.Scenarios("late-relase")) },
		"no-such-property": func(t *testing.T) { locktest.Run(t, majority, locktest.Properties("exclusion")) },
		"no-such-cluster":  func(t *testing.T) { locktest.Run(t, majority, locktest.On("moon")) },
		"taken-name":       func(t *testing.T) { locktest.Run(t, majority, locktest.Named("redsync")) },
		"nothing-fits":     func(t *testing.T) { locktest.Run(t, majority, locktest.Scenarios("extend-too-late")) },
	} {
		t.Run(name, test)
	}
}
