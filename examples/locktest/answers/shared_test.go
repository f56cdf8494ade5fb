package answers

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

// shared is one lock object for all goroutines of a service: its token is a field, which each Acquire overwrites.
type shared struct {
	client *redis.Client
	ttl    time.Duration
	token  string
	key    string
}

func (s *shared) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	s.token, s.key = rand.Text(), key
	taken, err := s.client.SetNX(ctx, key, s.token, s.ttl).Result()
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return nil, locktest.ErrHeld
	}
	return s, nil
}

func (s *shared) Release(ctx context.Context) error {
	return s.client.Eval(ctx, compareAndDelete, []string{s.key}, s.token).Err()
}

func TestShared(t *testing.T) {
	answer(t, func(env locktest.Env) (locktest.Lock, error) {
		return &shared{client: env.Client(0), ttl: env.TTL}, nil
	}, []string{"pause-in-acquire", "slow-acquire", "short-ttl", "drift-within-margin", "stopped-in-acquire",
		"lost-reply", "resent-set",
		"take-retried",
		"late-set",
		"cancelled-acquire", "cancelled-release", "shared-lock-object", "shared-contention"})
}
