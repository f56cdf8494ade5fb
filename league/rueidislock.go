package league

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"example.org/lockproof/harness/locktest"
)

func rueidisLocks() []Lock {
	base := Lock{
		On:     Single,
		Belief: "until the lease's own context ends, or it is released: the context is the lock, as its README says",
		Promises: []Quote{{
			"The returned `ctx` will be canceled automatically and immediately once the `KeyMajority` is not held anymore, " +
				"for example: Redis are down.", "rueidislock/README.md:54-55",
		}},
		Findings: []Finding{learnsTooLate("delayed-restart", "majority-crash-delayed"),
			pausedHolder("rueidislock/lock.go:273-291"), {
				Scenarios: []string{"endless-extension"}, Confirm: []string{"endless-extension"},
				Short:   "a hung holder keeps the lock for ever",
				What:    "a worker that hangs keeps the lock for ever: nothing limits the watchdog's extensions",
				Place:   "rueidislock/lock.go:274-290",
				Reply:   "that is the promise: it is held until it is released; use a context with a deadline",
				Depends: "on the caller's context: a deadline bounds it",
			}},
		Options: []locktest.Option{locktest.Believes(locktest.UntilReleased)},
	}
	cached, plain, valkeys := base, base, base
	cached.Name, cached.Test, cached.Module = "rueidislock", "rueidislock", "github.com/redis/rueidis"
	cached.SetUp = "as in its README: KeyMajority 1 for one server, NoLoopTracking; the TTL as KeyValidity"
	cached.Findings = append([]Finding{{
		Scenarios: []string{"asked-once", "delayed-restart", "healthy-contention", "holder-crashes", "slow-acquire"},
		Confirm:   []string{"scenarios/asked-once.yaml", "delayed-restart"},
		Short:     "a waiting client can wait for ever",
		What: "a waiting client waits for ever if a reply took longer than 20 ms (TryNextAfter) or the server restarted: " +
			"WithContext retries only after a notification of a changed key, and none arrives any more",
		Place: "rueidislock/lock.go:399-409",
		Reply: "known for broken connections (valkey-io/valkey#2599, closed to be moved); use a context with a deadline, " +
			"or DisableCache",
		Report: "rueidislock-waits-for-ever.md",
	}, {
		Scenarios: []string{"cancelled-acquire"}, Confirm: []string{"cancelled-acquire"},
		Short: "a cancelled acquire does not return in time",
		What: "a caller that cancels may wait for up to KeyValidity: the call waits for the release of keys that it may " +
			"have set",
		Place: "rueidislock/lock.go:292-294, 359", Reply: "so that no key stays behind",
	}, learnsTooLate()}, base.Findings[1:]...)
	cached.RealTime, cached.New = "the servers in memory have no CLIENT TRACKING", newRueidisLock(false)
	plain.Name, plain.Test, plain.Module = "rueidislock, without caching", "rueidislock-nocache",
		"github.com/redis/rueidis"
	extends := "If the invocation is successful, the `Locker` will extend the `ctx` validity periodically and also " +
		"watch client-side " +
		"caching notifications for canceling the `ctx` if the `KeyMajority` is not held anymore."
	plain.Promises = []Quote{{extends, "rueidislock/README.md:66"}}
	valkeys.Promises = []Quote{{extends, "valkeylock/README.md:66"}}
	plain.SetUp = "as rueidislock, with DisableCache, as in its README for servers without tracking"
	plain.New = newRueidisLock(true)
	valkeys.Name, valkeys.Test, valkeys.Module = "valkeylock", "valkeylock", "github.com/valkey-io/valkey-go"
	valkeys.SetUp = "as rueidislock without caching: the same code on valkey-go"
	valkeys.New = newValkeyLock
	return []Lock{cached, plain, valkeys}
}

// learnsTooLate: an extension may wait until the end of the validity that it requests.
func learnsTooLate(more ...string) Finding {
	shown := append([]string{"told-too-late", "not-told", "watchdog-cut-off"}, more...)
	return Finding{
		Scenarios: shown, Confirm: []string{"scenarios/told-too-late.yaml"},
		Short: "two clients work at once: the holder learns of the loss too late",
		What: "if Redis stops answering the holder (a cut, a hung server), the holder's context ends half a validity " +
			"after the key has expired; with the default of 5 s, two clients may work at once for 2.5 s",
		Place: "lock.go:279-280, with lock.go:181-183",
		Reply: "an extension in progress may still succeed, and an earlier cancellation ends work without need; but " +
			"after the old validity the ownership is unknown, and the promise says immediately",
		Report: "rueidislock-told-too-late.md",
	}
}

func newRueidisLock(disableCache bool) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			KeyMajority: 1, NoLoopTracking: true, KeyValidity: env.TTL,
			ClientOption: rueidis.ClientOption{
				InitAddress: []string{server.Addr}, Password: server.Password, DisableCache: disableCache, ForceSingleClient: true,
				DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
					return env.Dial(ctx, "tcp", addr)
				},
			},
		})
		if err != nil {
			return nil, err
		}
		return contextLock{env, locker, "rueidislock:0:"}, nil
	}
}

func newValkeyLock(env locktest.Env) (locktest.Lock, error) {
	server := env.Server(0)
	locker, err := valkeylock.NewLocker(valkeylock.LockerOption{
		KeyMajority: 1, NoLoopTracking: true, KeyValidity: env.TTL,
		ClientOption: valkey.ClientOption{
			InitAddress: []string{server.Addr}, Password: server.Password, DisableCache: true, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return env.Dial(ctx, "tcp", addr)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return contextLock{env, locker, "valkeylock:0:"}, nil
}

// contextLock is a lock whose lease is a context.
type contextLock struct {
	env    locktest.Env
	locker interface {
		WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
		Close()
	}
	prefix string
}

func (l contextLock) Keys(key string) []string { return []string{l.prefix + key} }

func (l contextLock) Close() error {
	l.locker.Close()
	return nil
}

func (l contextLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	inner, kept, cancel := within(ctx, l.env.Context())
	lasts, release, err := l.locker.WithContext(inner, key)
	if err != nil {
		cancel()
		return nil, err
	}
	kept()
	return watched{lease{release: func(context.Context) error {
		release()
		cancel()
		return nil
	}}, lasts}, nil
}
