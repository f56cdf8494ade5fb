package league

import (
	"context"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"example.org/lockproof/harness/locktest"
)

func goZeros() []Lock {
	return []Lock{{
		Name: "go-zero RedisLock", Test: "go-zero", Module: "github.com/zeromicro/go-zero", On: Single,
		SetUp:  "a new RedisLock for each lock, SetExpire with the TTL in whole seconds",
		Belief: undeclared,
		Dials:  true, Promises: []Quote{{"A RedisLock is a redis lock.", "core/stores/redis/redislock.go:33"}},
		Findings: []Finding{lateSet("core/stores/redis/redislock.go:62-70"),
			goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"}), {
				Scenarios: []string{"holder-crashes", "setnx-then-expire"},
				Short:     "the key of a dead holder stays 500 ms too long",
				What:      "the key of a dead holder stays 500 ms longer than its expiry: 1.5 s instead of 1 s",
				Place:     "core/stores/redis/redislock.go:19, 63",
				Reply:     "it is intended: a tolerance for late holders",
				Depends:   "on the expiry: for ten seconds it is a twentieth",
				Confirm:   []string{"holder-crashes"},
			}},
		Options: []locktest.Option{locktest.LeavesBehind("github.com/redis/go-redis/v9")}, // its client is never closed
		New:     newGoZero,
	}}
}

func newGoZero(env locktest.Env) (locktest.Lock, error) {
	logx.Disable()
	server := env.Server(0)
	store, err := redis.NewRedis(redis.RedisConf{Host: server.Addr, Pass: server.Password, Type: redis.NodeType,
		NonBlock: true})
	if err != nil {
		return nil, err
	}
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lock := redis.NewRedisLock(store, key)
		lock.SetExpire(seconds(env.TTL))
		until := shortest(env, env.TTL)
		return timed{lease{release: func(ctx context.Context) error {
			ours, err := lock.ReleaseCtx(ctx)
			if err == nil && !ours {
				err = locktest.ErrLost
			}
			return err
		}}, until}, held(lock.AcquireCtx(ctx))
	}), nil
}
