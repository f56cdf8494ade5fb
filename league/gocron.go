package league

import (
	"context"
	"errors"
	"sync"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"

	"example.org/lockproof/harness/locktest"
)

func gocrons() []Lock {
	jobs := Quote{"The lock is held for the duration of the job's run",
		"github.com/go-co-op/gocron/v2 v2.21.2, distributed.go:17"}
	base := Lock{Module: "github.com/go-co-op/gocron-redis-lock/v2", On: Single}
	plain, extending := base, base
	plain.Name, plain.Test = "gocron-redis-lock", "gocron"
	plain.SetUp = "NewRedisLocker with WithTries(1) as in its README, and WithExpiry with the TTL"
	plain.Belief = undeclared
	plain.Promises = []Quote{jobs}
	plain.Findings = []Finding{lateSet("redsync v4.18.0 mutex.go:107-130"),
		goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})}
	plain.New = newGocron(redislock.NewRedisLocker)
	extending.Name, extending.Test = "gocron-redis-lock, extending itself", "gocron-extending"
	extending.SetUp = "as gocron-redis-lock, with WithAutoExtendDuration of a third of the TTL"
	extending.Belief = "until released, declared by the adapter, as gocron's documentation says"
	extending.Options = []locktest.Option{locktest.Believes(locktest.UntilReleased)}
	extending.Promises = []Quote{
		jobs,
		{"WithAutoExtendDuration sets the duration for auto extending the lock.", "options.go:12"},
	}
	extending.Findings = []Finding{{
		Scenarios: []string{"told-too-late", "not-told", "delayed-restart", "majority-crash-delayed"},
		Confirm:   []string{"scenarios/told-too-late.yaml"},
		Short:     "two clients work at once: auto-extension stops silently",
		What: "after the first failed extension it stops extending and reports nothing: the job continues, its lock " +
			"expires, and the same job starts elsewhere",
		Place: "redislock.go:129-132",
		Reply: "the Locker interface of gocron cannot report a loss to the job; but an extension could be retried after " +
			"a temporary error",
		Report: "gocron-redis-lock-extension.md",
	}, pausedHolder("redislock.go:120-135"), lateSet("redsync v4.18.0 mutex.go:107-130"),
		goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})}
	extending.New = newGocronExtending
	return []Lock{plain, extending}
}

func newGocron(build func(redisClient, ...redsyncOption) (gocron.Locker, error)) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		locker, err := build(env.Client(0), redislock.WithTries(1), redislock.WithExpiry(env.TTL))
		return &gocronLock{locker: locker}, err
	}
}

func newGocronExtending(env locktest.Env) (locktest.Lock, error) {
	locker, err := redislock.NewRedisLockerWithOptions(env.Client(0), redislock.WithAutoExtendDuration(env.TTL/3),
		redislock.WithRedsyncOptions(redislock.WithTries(1), redislock.WithExpiry(env.TTL)))
	return &gocronLock{locker: locker}, err
}

type gocronLock struct {
	locker gocron.Locker

	mu   sync.Mutex
	open map[gocron.Lock]bool
}

func (l *gocronLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lock, err := l.locker.Lock(ctx, key)
	if err != nil {
		if errors.Is(err, redislock.ErrFailedToObtainLock) {
			err = errors.Join(err, locktest.ErrHeld) // it does not distinguish a refusal from a failure
		}
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[gocron.Lock]bool{}
	}
	l.open[lock] = true
	return locktest.ReleaseFunc(func(ctx context.Context) error {
		if !l.take(lock) {
			return locktest.ErrLost // a second Unlock panics
		}
		return lock.Unlock(ctx)
	}), nil
}

func (l *gocronLock) take(lock gocron.Lock) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open[lock]
	delete(l.open, lock)
	return was
}

// Close ends the extensions of unreleased locks, without a release.
func (l *gocronLock) Close() error {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	for lock := range l.open {
		_ = lock.Unlock(over)
	}
	return nil
}
