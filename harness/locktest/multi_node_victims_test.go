package locktest_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/native"
	"example.org/lockproof/redlock/server"
)

// good is the reference lock behind the public API.
func good(env locktest.Env) (locktest.Lock, error) {
	return goodOn(env, env.Clients(noRetries)...)
}

// sharing is the same lock, but all clients use the first one's connections.
func sharing(once *sync.Once) locktest.New {
	var pool []*redis.Client
	return func(env locktest.Env) (locktest.Lock, error) {
		once.Do(func() { pool = env.Clients(noRetries) })
		return goodOn(env, pool...)
	}
}

// onThree is the same lock on the first three servers.
func onThree(env locktest.Env) (locktest.Lock, error) {
	return goodOn(env, env.Client(0, noRetries), env.Client(1, noRetries), env.Client(2, noRetries))
}

func goodOn(env locktest.Env, servers ...*redis.Client) (locktest.Lock, error) {
	var clients []redis.UniversalClient
	for _, client := range servers {
		clients = append(clients, client)
	}
	nodes, err := server.Nodes(clients, native.Commands, guard.Servers(guard.Options{}))
	if err != nil {
		return nil, err
	}
	lock, err := redlock.New(nodes, redlock.Options{Rand: env.Rand, Clock: env.Clock(), SetGrace: -1,
		NodeTimeout: env.NodeTimeout, RetryMin: env.RetryMin, RetryMax: env.RetryMax, Tries: env.Tries})
	return &goodLock{lock, env.TTL}, err
}

func noRetries(o *redis.Options) {
	o.MaxRetries, o.ContextTimeoutEnabled, o.PoolSize = -1, true, 256
}

type goodLock struct {
	*redlock.Redlock
	ttl time.Duration
}

func (l *goodLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lease, err := l.Redlock.Acquire(ctx, key, l.ttl)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// majority sends to one server after another and counts, without a check of the elapsed time.
func majority(env locktest.Env) (locktest.Lock, error) {
	return &counting{nodes: env.Clients(noRetries), env: env}, nil
}

// patient waits for the replies of all servers before it counts.
func patient(env locktest.Env) (locktest.Lock, error) {
	return &counting{nodes: env.Clients(), env: env, patient: true}, nil
}

type counting struct {
	nodes   []*redis.Client
	env     locktest.Env
	patient bool
}

func (l *counting) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	random := make([]byte, 16)
	if _, err := io.ReadFull(l.env.Rand, random); err != nil {
		return nil, err
	}
	lease := &countingLease{l, key, hex.EncodeToString(random)}
	answers := make(chan bool, len(l.nodes))
	for _, node := range l.nodes {
		go func() {
			ok, _ := node.SetNX(ctx, key, lease.token, l.env.TTL).Result()
			answers <- ok
		}()
	}
	yes := 0
	for n := range l.nodes {
		if <-answers {
			yes++
		}
		if !l.patient && max(yes, n+1-yes) > len(l.nodes)/2 {
			break
		}
	}
	if yes > len(l.nodes)/2 {
		return lease, nil
	}
	_ = lease.Release(context.WithoutCancel(ctx))
	return nil, locktest.ErrHeld
}

type countingLease struct {
	*counting
	key, token string
}

func (l *countingLease) Token() string { return l.token }

func (l *countingLease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.env.NodeTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for _, node := range l.nodes {
		asked.Go(func() { compareAndDelete.Eval(ctx, node, []string{l.key}, l.token) })
	}
	asked.Wait()
	return nil
}

var compareAndDelete = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// extendsInVain has an Extend that always fails.
func extendsInVain(env locktest.Env) (locktest.Lock, error) {
	lock, err := good(env)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		lease, err := lock.Acquire(ctx, key)
		return notExtended{lease}, err
	}), err
}

type notExtended struct{ locktest.Lease }

func (notExtended) Extend(context.Context) error { return errors.New("no such script") }
