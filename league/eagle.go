package league

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-eagle/eagle/pkg/config"
	"github.com/go-eagle/eagle/pkg/lock"
	"github.com/go-eagle/eagle/pkg/log"
	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

func eagles() []Lock {
	return []Lock{{
		Name: "go-eagle RedisLock", Test: "eagle", Module: "github.com/go-eagle/eagle", On: Single,
		SetUp: "a new RedisLock for each lock, on go-redis 9 with its defaults, and with the framework's logger, " +
			"without which the lock panics at the first Redis error",
		Belief:   undeclared,
		Promises: []Quote{{"Lock acquires the lock.", "pkg/lock/redis.go:33"}},
		Findings: []Finding{lateSet("pkg/lock/redis.go:35-41"),
			goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})},
		Prepare: logging,
		New: func(env locktest.Env) (locktest.Lock, error) {
			return eagleLock{env, env.Client(0)}, nil
		},
	}}
}

// logging starts go-eagle's logger before virtual time begins: its watch of the file cannot run there.
var logging = sync.OnceFunc(func() {
	config.New("testdata/eagle")
	log.Init()
})

type eagleLock struct {
	env    locktest.Env
	client *redis.Client
}

func (l eagleLock) Keys(key string) []string { return []string{fmt.Sprintf(lock.RedisLockKey, key)} }

func (l eagleLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	of, until := lock.NewRedisLock(l.client, key, l.env.TTL), shortest(l.env, l.env.TTL)
	return timed{lease{release: func(ctx context.Context) error {
		ours, err := of.Unlock(ctx)
		if err == nil && !ours {
			err = locktest.ErrLost
		}
		return err
	}}, until}, held(of.Lock(ctx))
}
