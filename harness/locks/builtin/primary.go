package builtin

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
)

func init() {
	for _, kind := range []struct {
		name, doc string
		moves     bool
	}{
		{"single-primary", "one server of those that it is given: goes on to the next when one answers READONLY", true},
		{"single-stale-primary", "one server of those that it is given, naive: keeps to the first, whatever that answers",
			false},
	} {
		locks.Register(locks.Kind{
			Name: kind.name, Doc: kind.doc,
			New:       func(env locks.Env) (locks.Lock, error) { return newPrimary(env, kind.moves) },
			Abilities: locks.Abilities{OwnClock: true, Extends: true, SingleNode: true}, Failover: true,
		})
	}
}

// newPrimary makes a lock on a primary with its replicas. If it does not move, it makes the mistake: a connection
// outlives a failover, so that the old primary answers, and refuses each write.
func newPrimary(env locks.Env, moves bool) (locks.Lock, error) {
	l := newNodeLock(env)
	var servers []*nodeLock
	for i := range env.Nodes {
		one := env
		one.Nodes = env.Nodes[i:]
		servers = append(servers, newNodeLock(one))
	}
	var primary atomic.Int64 // index among the servers
	on := func(call func(*nodeLock) nodeCall) nodeCall {
		return func(ctx context.Context, key, token string) (bool, error) {
			at := primary.Load()
			for range servers {
				ok, err := call(servers[at])(ctx, key, token)
				if err == nil || !moves || !redis.HasErrorPrefix(err, "READONLY") {
					return ok, err
				}
				next := (at + 1) % int64(len(servers))
				primary.CompareAndSwap(at, next)
				at = next
			}
			return call(servers[at])(ctx, key, token)
		}
	}
	l.acquire = on(func(s *nodeLock) nodeCall { return s.setNX })
	l.release = on(func(s *nodeLock) nodeCall { return s.deleteOwn })
	l.extend = on(func(s *nodeLock) nodeCall { return s.expireOwn })
	return l, nil
}
