package league

import (
	"context"
	"errors"
	"net/url"
	"time"

	"gitea.dev/modules/globallock"
	"github.com/go-redsync/redsync/v4"

	"example.org/lockproof/harness/locktest"
)

// giteaExpiry is the fixed expiry of gitea's lock unless it is extended.
const giteaExpiry = 30 * time.Second

func giteas() []Lock {
	return []Lock{{
		Name: "gitea globallock", Test: "gitea", Module: "code.gitea.io/gitea", On: Single, Dials: true,
		SetUp: "NewRedisLocker and Lock, as its packages use it; its expiry is fixed at 30 s, so it runs only in a few " +
			"scenarios",
		Belief: "until released, declared by the adapter: Lock returns a function for the release, and nothing that could " +
			"report a loss",
		Promises: []Quote{
			{"Lock tries to acquire a lock for the given key, it blocks until the lock is acquired or the context is canceled.",
				"modules/globallock/locker.go:11"},
			{"If it failed to extend, it will be released automatically after the lock expires.",
				"modules/globallock/redis_locker.go:129"},
		},
		Findings: []Finding{{
			Scenarios: []string{"not-told"}, Confirm: []string{"scenarios/not-told.yaml"},
			Short: "two clients work at once: a failed extension is ignored",
			What: "if Redis stops answering the holder until its 30 s are over, another client gets the lock while the " +
				"holder keeps working: a failed extension is ignored and not reported",
			Place: "modules/globallock/redis_locker.go:128-131",
			Reply: "it is released automatically after it expires, as the comment says; most of the guarded work may run " +
				"twice",
			Report: "gitea-globallock-not-told.md",
		}},
		Only: []string{"scenarios/given-back.yaml", "scenarios/not-told.yaml", "holder-crashes", "lost-reply", "late-set",
			"cancelled-acquire",
			"healthy-contention"},
		Options: []locktest.Option{locktest.TTL(giteaExpiry), locktest.Believes(locktest.UntilReleased),
			locktest.LeavesBehind("github.com/redis/go-redis/v9")}, // its client is never closed
		New: newGitea,
	}}
}

func newGitea(env locktest.Env) (locktest.Lock, error) {
	server := env.Server(0)
	at := url.URL{Scheme: "redis", Host: server.Addr, Path: "/0"}
	if server.Password != "" {
		at.User = url.UserPassword("", server.Password)
	}
	return giteaLock{globallock.NewRedisLocker(at.String())}, nil
}

type giteaLock struct{ locker globallock.Locker }

func (giteaLock) Keys(key string) []string { return []string{"gitea:globallock:" + key} }

func (l giteaLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	release, err := l.locker.Lock(ctx, key)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		err = errors.Join(err, locktest.ErrHeld)
	}
	return locktest.ReleaseFunc(func(context.Context) error {
		release()
		return nil
	}), err
}
