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
		Belief: "nobody says: a TTL from when it asked for the key, less the drift of clocks, which is the least",
		Dials:  true, Promises: []Quote{{"A RedisLock is a redis lock.", "core/stores/redis/redislock.go:33"}},
		Findings: []Finding{lateSet("core/stores/redis/redislock.go:62-70"),
			goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"}), {
				Scenarios: []string{"holder-crashes", "setnx-then-expire"},
				Short:     "the key of a dead holder stays 500 ms too long",
				What: "the key of a holder that has died stands for 500 ms longer than the expiry that was set: with an " +
					"expiry of " +
					"1 s that is half as long again", Place: "core/stores/redis/redislock.go:19, 63",
				Reply:   "it is meant: a tolerance for holders that are late",
				Depends: "on the expiry: with one of ten seconds it is a twentieth",
				Confirm: []string{"holder-crashes"},
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
		return lease{release: func(ctx context.Context) error {
			ours, err := lock.ReleaseCtx(ctx)
			if err == nil && !ours {
				err = locktest.ErrLost
			}
			return err
		}}, held(lock.AcquireCtx(ctx))
	}), nil
}
