package lock

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// The bare commands of the reference: they go to all servers at once and wait for a majority of replies of any content.
// This is the cost without the lock's own work.

const deleteIfOurs = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`

const token = "0123456789abcdef0123456789abcdef01234567"

// fanOut calls do for each of n servers, and returns after a majority of calls.
func fanOut(n int, do func(server int) error) error {
	done := make(chan error, n)
	for i := range n {
		go func() { done <- do(i) }()
	}
	for range majority(n) {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

type goRedis struct {
	clients []*redis.Client
	script  *redis.Script
}

func openGoRedis(addrs []string) (locker, error) {
	return &goRedis{clients(addrs), redis.NewScript(deleteIfOurs)}, nil
}

func (g *goRedis) acquire(ctx context.Context, key string) (held, error) {
	err := fanOut(len(g.clients), func(i int) error {
		set := redis.NewStringCmd(ctx, "set", key, token, "nx", "get", "px", ttl.Milliseconds())
		if err := g.clients[i].Process(ctx, set); err != redis.Nil {
			return err
		}
		return nil
	})
	return goRedisHeld{g, key}, err
}

func (g *goRedis) close() error { return closeAll(g.clients) }

type goRedisHeld struct {
	*goRedis
	key string
}

func (h goRedisHeld) release(ctx context.Context) error {
	return fanOut(len(h.clients), func(i int) error {
		return h.script.Run(ctx, h.clients[i], []string{h.key}, token).Err()
	})
}

// rawRueidis lets rueidis put callers' commands on one connection.
type rawRueidis struct {
	clients []rueidis.Client
	script  *rueidis.Lua
}

func openRueidis(addrs []string) (locker, error) {
	r := &rawRueidis{script: rueidis.NewLuaScript(deleteIfOurs)}
	for _, addr := range addrs {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
		if err != nil {
			_ = r.close() // the first error says more
			return nil, err
		}
		r.clients = append(r.clients, c)
	}
	return r, nil
}

func (r *rawRueidis) acquire(ctx context.Context, key string) (held, error) {
	err := fanOut(len(r.clients), func(i int) error {
		c := r.clients[i]
		set := c.B().Arbitrary("SET").Keys(key).Args(token, "NX", "GET", "PX",
			strconv.FormatInt(ttl.Milliseconds(), 10)).Build()
		if err := c.Do(ctx, set).Error(); !rueidis.IsRedisNil(err) {
			return err
		}
		return nil
	})
	return rawRueidisHeld{r, key}, err
}

func (r *rawRueidis) close() error {
	for _, c := range r.clients {
		c.Close()
	}
	return nil
}

type rawRueidisHeld struct {
	*rawRueidis
	key string
}

func (h rawRueidisHeld) release(ctx context.Context) error {
	return fanOut(len(h.clients), func(i int) error {
		return h.script.Exec(ctx, h.clients[i], []string{h.key}, []string{token}).Error()
	})
}
