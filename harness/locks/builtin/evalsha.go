package builtin

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
)

func init() {
	onOneNode("single-evalsha",
		"one node, naive: scripts are loaded once and then called by their digest alone", newEvalsha)
}

// newEvalsha makes the mistake: no call loads a script again after a restart, a failover or a SCRIPT FLUSH, so that
// releases and extensions fail from then on.
func newEvalsha(env locks.Env) (locks.Lock, error) {
	l := newNodeLock(env)
	deletes, expires := loadedOnce{script: compareAndDelete}, loadedOnce{script: compareAndExpire}
	l.release = func(ctx context.Context, key, token string) (bool, error) {
		return deletes.run(ctx, l.node, key, token)
	}
	l.extend = func(ctx context.Context, key, token string) (bool, error) {
		return expires.run(ctx, l.node, key, token, l.env.TTL.Milliseconds())
	}
	return l, nil
}

// loadedOnce is a script that is loaded before its first call only.
type loadedOnce struct {
	script *redis.Script
	loaded atomic.Bool
}

func (s *loadedOnce) run(ctx context.Context, node redis.Scripter, key string, args ...any) (bool, error) {
	if !s.loaded.Load() {
		if err := s.script.Load(ctx, node).Err(); err != nil {
			return false, err
		}
		s.loaded.Store(true)
	}
	return s.script.EvalSha(ctx, node, []string{key}, args...).Bool()
}
