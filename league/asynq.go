package league

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"time"

	"github.com/hibiken/asynq"

	"example.org/lockproof/harness/locktest"
)

func asynqs() []Lock {
	return []Lock{{
		Promises: []Quote{{"Task enqueued with this option is guaranteed to be unique within the given ttl.",
			"client.go:157"}}, Name: "asynq unique tasks", Test: "asynq", Module: "github.com/hibiken/asynq", On: Single,
		SetUp: "a task with Unique(TTL) is the lock, TTL in whole seconds; no server processes it, so it is never " +
			"released, and it is judged by mutual exclusion alone",
		Belief:     undeclared,
		Unreleased: true,
		Options:    []locktest.Option{locktest.Properties("mutual-exclusion")},
		New: func(env locktest.Env) (locktest.Lock, error) {
			return asynqLock{env, asynq.NewClientFromRedisClient(env.Client(0))}, nil
		},
	}}
}

type asynqLock struct {
	env    locktest.Env
	client *asynq.Client
}

// Keys: the task's uniqueness is a key named by its payload.
func (l asynqLock) Keys(key string) []string {
	sum := md5.Sum([]byte(key))
	return []string{"asynq:{default}:unique:league:" + hex.EncodeToString(sum[:])}
}

func (l asynqLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	whole := time.Duration(seconds(l.env.TTL)) * time.Second
	until := shortest(l.env, whole)
	task, err := l.client.EnqueueContext(ctx, asynq.NewTask("league", []byte(key)), asynq.Unique(whole))
	if errors.Is(err, asynq.ErrDuplicateTask) {
		err = errors.Join(err, locktest.ErrHeld)
	}
	if err != nil {
		return nil, err
	}
	return timed{lease{func(context.Context) error { return locktest.ErrNoRelease }, task.ID}, until}, nil
}
