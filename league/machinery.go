package league

import (
	"context"
	"errors"
	"time"

	"github.com/RichardKnop/machinery/v1/config"
	"github.com/RichardKnop/machinery/v1/locks/redis"

	"example.org/lockproof/harness/locktest"
)

func machineries() []Lock {
	return []Lock{{
		Name: "machinery", Test: "machinery", Module: "github.com/RichardKnop/machinery", On: Single,
		SetUp:  "New with three retries, then LockWithRetries; without a release, so judged by mutual exclusion alone",
		Belief: "until the timestamp of the call", Dials: true, Unreleased: true,
		Promises: []Quote{{"value: at the nanosecond timestamp that lock needs to be released automatically",
			"v1/locks/iface/interfaces.go:6"}},
		Options: []locktest.Option{locktest.Properties("mutual-exclusion"),
			locktest.LeavesBehind("github.com/go-redis/redis/v8")},
		New: newMachinery,
	}}
}

func newMachinery(env locktest.Env) (locktest.Lock, error) {
	server := env.Server(0)
	addr := server.Addr
	if server.Password != "" {
		addr = server.Password + "@" + addr
	}
	lock := redis.New(&config.Config{}, []string{addr}, 0, 3)
	return locktest.LockFunc(func(_ context.Context, key string) (locktest.Lease, error) {
		until := time.Now().Add(env.TTL)
		err := lock.LockWithRetries(key, until.UnixNano())
		if errors.Is(err, redis.ErrRedisLockFailed) {
			err = errors.Join(err, locktest.ErrHeld)
		}
		return timed{lease{release: func(context.Context) error { return locktest.ErrNoRelease }}, until}, err
	}), nil
}
