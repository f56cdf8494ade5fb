package league

import (
	"context"
	"crypto/rand"

	"github.com/kvtools/redis"
	"github.com/kvtools/valkeyrie/store"

	"example.org/lockproof/harness/locktest"
)

func kvtools() []Lock {
	base := Lock{
		Module: "github.com/kvtools/redis", On: Single, Dials: true,
		Belief: "until the channel that Lock returns is closed, or it is released",
		Only: []string{"scenarios/given-back.yaml", "scenarios/told-too-late.yaml", "holder-crashes", "lost-reply",
			"late-set"},
		Promises: []Quote{{"Locker provides locking mechanism on top of the store. Similar to sync.Locker except it may " +
			"return errors.",
			"github.com/kvtools/valkeyrie v1.0.0, store/store.go:86-87"}},
		Options: []locktest.Option{locktest.Believes(locktest.UntilReleased),
			locktest.LeavesBehind("github.com/kvtools/redis")},
	}
	late := Finding{
		Scenarios: []string{"told-too-late", "not-told", "watchdog-cut-off"},
		Confirm:   []string{"scenarios/told-too-late.yaml"},
		Short:     "two clients work at once: the holder learns of the loss too late",
		What: "if Redis stops answering the holder, the extension waits for 30 s, four times, whatever the TTL: the " +
			"channel that reports the loss is closed long after another client has the lock",
		Place:  "redis.go:159-164, 702-719",
		Reply:  "the TTL is 60 s by default; then two may hold it for a minute",
		Report: "kvtools-redis-lock.md",
	}
	raw, encoded := base, base
	raw.Name, raw.Test = "kvtools/redis (valkeyrie)", "kvtools"
	raw.SetUp = "New, NewLock with the TTL and a random value, as in valkeyrie's documents; in a few scenarios only, " +
		"because a client whose watch has ended retries in a tight loop (redis.go:664-676), and runs take hours"
	raw.Findings = []Finding{{
		Scenarios: []string{"given-back"}, Confirm: []string{"scenarios/given-back.yaml"},
		Short: "Unlock never deletes the key",
		What: "with the default codec a lock is never released and never extended: the script parses every value as JSON, " +
			"and the codec writes none. The next client waits for a whole TTL, 60 s by default",
		Place:  "redis.go:104 with codec.go:19-25 and lua.go:102-103, 120-121",
		Reply:  "known (kvtools/valkeyrie#46): NewWithCodec with JSONCodec; valkeyrie.NewStore has no such option",
		Report: "kvtools-redis-lock.md",
	}, late}
	raw.New = newKvtools(redis.RawCodec{})
	encoded.Name, encoded.Test = "kvtools/redis with JSONCodec", "kvtools-json"
	encoded.SetUp = "as kvtools/redis, with NewWithCodec and JSONCodec, as in its own tests"
	encoded.Findings = []Finding{late}
	encoded.New = newKvtools(redis.JSONCodec{})
	return []Lock{raw, encoded}
}

func newKvtools(codec redis.Codec) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		kv, err := redis.NewWithCodec(env.Context(), []string{server.Addr}, &redis.Config{Password: server.Password}, codec)
		if err != nil {
			return nil, err
		}
		return kvtoolsLock{env, kv}, nil
	}
}

type kvtoolsLock struct {
	env          locktest.Env
	*redis.Store // with Close
}

func (l kvtoolsLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	locker, err := l.NewLock(ctx, key, &store.LockOptions{TTL: l.env.TTL, Value: []byte(rand.Text())})
	if err != nil {
		return nil, err
	}
	inner, kept, cancel := within(ctx, l.env.Context())
	lost, err := locker.Lock(inner)
	if err != nil {
		cancel()
		return nil, err
	}
	kept()
	lasts, end := context.WithCancel(l.env.Context())
	go func() {
		select {
		case <-lost:
		case <-lasts.Done():
		}
		end()
	}()
	return watched{lease{release: func(ctx context.Context) error {
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- locker.Unlock(ctx) }() // it may block for ever, whatever the context
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}, lasts}, nil
}
