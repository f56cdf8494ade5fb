package league

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/batch"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/native"
	"example.org/lockproof/redlock/server"
)

// references are for comparison: Lockproof's own lock, used as a library, and two typical naive locks.
func references() []Lock {
	return []Lock{{
		Name: "example.org/lockproof/redlock, the reference", Test: "reference", Module: "lockproof", On: Several,
		SetUp: "New on go-redis 9 that obeys deadlines and does not retry commands; clock, node timeout and retries are " +
			"the scenario's", Belief: "for Validity()", New: newReference,
	}, {
		Name: "SET NX PX and a plain DEL", Test: "naive-del", On: Single,
		SetUp: "as written in a hurry, on go-redis 9 with its defaults", Belief: undeclared, New: newNaive(setNXPX),
		Findings: []Finding{plainDel(), lateSet("a SET without a reply is not undone"),
			goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})},
	}, {
		Name: "SETNX, then EXPIRE, and a plain DEL", Test: "naive-setnx", On: Single,
		SetUp: "as written in a hurry, on go-redis 9 with its defaults", Belief: undeclared, New: newNaive(setNXThenExpire),
		Findings: []Finding{plainDel(), {
			Scenarios: []string{"setnx-then-expire", "lost-reply", "resent-set", "late-set", "late-release",
				"script-blocks", "cancelled-acquire"},
			Confirm: []string{"setnx-then-expire"},
			Short:   "a key without expiry can stay for ever",
			What:    "a client that dies, or gets no reply, between SETNX and EXPIRE leaves a key for ever",
			Place:   "league/reference.go: setNXThenExpire", Reply: "SET NX PX does both at once since Redis 2.6.12",
		}},
	}}
}

func plainDel() Finding {
	return Finding{
		Scenarios: []string{"release-by-plain-del", "release-by-get-then-del", "shared-lock-object"},
		Confirm:   []string{"release-by-plain-del"},
		Short:     "a late holder deletes another client's lock",
		What:      "a late holder deletes another client's lock",
		Place:     "league/reference.go: newNaive", Reply: "compare the token and delete in one script",
	}
}

func newReference(env locktest.Env) (locktest.Lock, error) {
	var clients []redis.UniversalClient
	for _, client := range env.Clients(func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries = true, -1 }) {
		clients = append(clients, client)
	}
	nodes, err := server.Nodes(clients, batch.Pipelines, native.Commands, guard.Servers(guard.Options{}))
	if err != nil {
		return nil, err
	}
	lock, err := redlock.New(nodes, redlock.Options{Clock: env.Clock(), Rand: env.Rand, Drift: env.Drift,
		NodeTimeout: env.NodeTimeout, RetryMin: env.RetryMin, RetryMax: env.RetryMax})
	if err != nil {
		return nil, err
	}
	return referenceLock{lock, env.TTL}, nil
}

type referenceLock struct {
	*redlock.Redlock // with Close
	ttl              time.Duration
}

func (l referenceLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lease, err := l.Redlock.Acquire(ctx, key, l.ttl)
	if errors.Is(err, redlock.ErrHeld) {
		err = errors.Join(err, locktest.ErrHeld)
	}
	return lease, err
}

type taking func(ctx context.Context, client *redis.Client, key, token string, env locktest.Env) (bool, error)

func setNXPX(ctx context.Context, client *redis.Client, key, token string, env locktest.Env) (bool, error) {
	return client.SetNX(ctx, key, token, env.TTL).Result()
}

func setNXThenExpire(ctx context.Context, client *redis.Client, key, token string, env locktest.Env) (bool, error) {
	taken, err := client.SetNX(ctx, key, token, 0).Result()
	if err == nil && taken {
		err = client.PExpire(ctx, key, env.TTL).Err()
	}
	return taken, err
}

func newNaive(take taking) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		client := env.Client(0)
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			token, until := rand.Text(), shortest(env, env.TTL)
			del := func(ctx context.Context) error { return client.Del(ctx, key).Err() }
			return timed{lease{del, token}, until}, held(take(ctx, client, key, token, env))
		}), nil
	}
}
