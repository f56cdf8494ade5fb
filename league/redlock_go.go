package league

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/amyangfei/redlock-go/v3/redlock"

	"example.org/lockproof/harness/locktest"
)

func redlockGos() []Lock {
	return []Lock{{
		Name: "redlock-go", Test: "redlock-go", Module: "github.com/amyangfei/redlock-go/v3", On: Several,
		SetUp:  "as in its README: one manager for each client, its own retries and its own go-redis 8",
		Belief: "for the duration that Lock returns", Dials: true, New: newRedlockGo,
		Options: []locktest.Option{locktest.LeavesBehind("github.com/go-redis/redis/v8")},
		Promises: []Quote{{"This Golang lib implements the Redis-based distributed lock manager algorithm [described in " +
			"this blog post]",
			"README.md:9"}},
		Findings: []Finding{{
			Scenarios: []string{"hung-node"}, Confirm: []string{"hung-node"},
			Short: "one hung server of five blocks everybody",
			What: "one hung server of five keeps all clients from the lock: Lock waits for all five, for up to the TTL, " +
				"and then no validity is left",
			Place:  "redlock/redlock.go:197, 213, 221-223",
			Reply:  "the address can set a ReadTimeout; the default is go-redis 8's 3 s",
			Report: "redlock-go-hung-node.md",
		}, {
			Scenarios: []string{"shared-lock-object"}, Confirm: []string{"shared-lock-object"},
			Short: "UnLock can release another holder's lock",
			What: "UnLock names the key and not the lease: a late holder releases the lock of another part of the same " +
				"process, and a third client gets it",
			Place:  "redlock/redlock.go:246-262, kvcache.go:137-146",
			Reply:  "a manager does not support two holders of one resource in one process; the README does not say so",
			Report: "redlock-go-unlock-by-name.md",
		}},
	}}
}

func newRedlockGo(env locktest.Env) (locktest.Lock, error) {
	var addresses []string
	for _, server := range env.Servers() {
		at := url.URL{Scheme: "tcp", Host: server.Addr}
		if server.Password != "" {
			at.User = url.UserPassword("", server.Password)
		}
		addresses = append(addresses, at.String())
	}
	manager, err := redlock.NewRedLock(env.Context(), addresses)
	if len(addresses)%2 == 0 {
		err = errors.Join(err, locktest.ErrRefused) // it requires an odd number
	}
	if err != nil {
		return nil, err
	}
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		validity, err := manager.Lock(ctx, key, env.TTL)
		return timed{lease{release: func(ctx context.Context) error { return manager.UnLock(ctx, key) }},
			time.Now().Add(validity)}, err
	}), nil
}
