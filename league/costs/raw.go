package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.com/league"
	"example.org/lockproof/harness/locktest"
)

// The bare commands of a lock, the least possible cost: SET NX PX, and the script that compares and deletes, sent to
// all servers at once, until a majority has answered.

var (
	rawSeveral = league.Lock{Name: "the bare commands, five servers", Test: rawOnSeveral, On: league.Several,
		New: newRaw(servers)}
	rawSingle = league.Lock{Name: "the bare commands, one server", Test: rawOnSingle, On: league.Single, New: newRaw(1)}
)

const (
	rawOnSeveral = "raw-several"
	rawOnSingle  = "raw-single"
)

var deleteIfOurs = redis.NewScript(
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

const rawToken = "0123456789abcdef0123456789abcdef01234567"

func newRaw(n int) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		var clients []*redis.Client
		for i := range n {
			clients = append(clients, env.Client(i))
		}
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			won := make(chan bool, n)
			fanOut(clients, func(c *redis.Client) {
				ok, err := c.SetNX(ctx, key, rawToken, env.TTL).Result()
				won <- ok && err == nil
			})
			for yes, no := 0, 0; yes <= n/2; {
				if <-won {
					yes++
				} else if no++; no > n/2 {
					return nil, locktest.ErrHeld
				}
			}
			return locktest.ReleaseFunc(func(ctx context.Context) error {
				done := make(chan error, n)
				fanOut(clients, func(c *redis.Client) { done <- deleteIfOurs.Run(ctx, c, []string{key}, rawToken).Err() })
				for range n/2 + 1 {
					if err := <-done; err != nil {
						return err
					}
				}
				return nil
			}), nil
		}), nil
	}
}

func fanOut(clients []*redis.Client, do func(*redis.Client)) {
	if len(clients) == 1 {
		do(clients[0])
		return
	}
	for _, c := range clients {
		go do(c)
	}
}
