package league

import (
	"context"
	"errors"
	"time"

	"github.com/RichardKnop/machinery/v1/config"
	"github.com/RichardKnop/machinery/v1/locks/redis"

	"lockproof/harness/locktest"
)

func machineries() []Lock {
	return []Lock{{
		Name: "machinery", Test: "machinery", Module: "github.com/RichardKnop/machinery", On: Single,
		SetUp:  "New with three retries, then LockWithRetries; it has no release, and is judged by mutual exclusion alone",
		Belief: "nobody says: a TTL from when it asked for the key, less the drift of clocks, which is the least", RealTime: true, Unreleased: true,
		Promises: []Quote{{"value: at the nanosecond timestamp that lock needs to be released automatically",
			"v1/locks/iface/interfaces.go:6"}},
		Options: []locktest.Option{locktest.Properties("mutual-exclusion")},
		New:     newMachinery,
	}}
}

var errNoRelease = errors.New("machinery's lock has no release: it ends by itself")

func newMachinery(env locktest.Env) (locktest.Lock, error) {
	server := env.Server(0)
	addr := server.Addr
	if server.Password != "" {
		addr = server.Password + "@" + addr
	}
	lock := redis.New(&config.Config{}, []string{addr}, 0, 3)
	return locktest.LockFunc(func(_ context.Context, key string) (locktest.Lease, error) {
		err := lock.LockWithRetries(key, time.Now().Add(env.TTL).UnixNano())
		if errors.Is(err, redis.ErrRedisLockFailed) {
			err = errors.Join(err, locktest.ErrHeld)
		}
		return lease{release: func(context.Context) error { return errNoRelease }}, err
	}), nil
}
