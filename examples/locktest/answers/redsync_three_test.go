package answers

import (
	"context"
	"testing"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"example.org/lockproof/harness/locktest"
)

// mutex is a lease of redsync; it has Until.
type mutex struct{ *redsync.Mutex }

func (m mutex) Token() string { return m.Value() }

func (m mutex) Extend(ctx context.Context) error {
	_, err := m.ExtendContext(ctx)
	return err
}

func (m mutex) Release(ctx context.Context) error {
	_, err := m.UnlockContext(ctx)
	return err
}

// redsync on three servers, with go-redis's default clients.
func redsyncOnThree(env locktest.Env) (locktest.Lock, error) {
	var pools []redsyncredis.Pool
	for i := range 3 {
		pools = append(pools, goredis.NewPool(env.Client(i)))
	}
	sync := redsync.New(pools...)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		m := sync.NewMutex(key, redsync.WithExpiry(env.TTL))
		return mutex{m}, m.LockContext(ctx)
	}), nil
}

func TestRedsyncOnThree(t *testing.T) {
	answer(t, redsyncOnThree, []string{"minority-down", "hung-node", "lost-reply", "take-retried", "cancelled-acquire"},
		locktest.Nodes(3))
}
