package locks

import (
	"context"
	"testing"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"example.org/lockproof/harness/locktest"
)

// go-redsync/redsync on five servers. Its mutex knows the end of its validity.
func TestRedsync(t *testing.T) {
	locktest.Run(t, newRedsync, mutualExclusion, locktest.Scenarios("healthy-contention", "slow-acquire",
		"pause-in-acquire"))
}

func newRedsync(env locktest.Env) (locktest.Lock, error) {
	var pools []redsyncredis.Pool
	for _, client := range env.Clients() {
		pools = append(pools, goredis.NewPool(client))
	}
	sync := redsync.New(pools...)
	return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
		mutex := sync.NewMutex(key, redsync.WithExpiry(env.TTL))
		return mutexLease{mutex}, mutex.LockContext(ctx)
	}), nil
}

type mutexLease struct{ *redsync.Mutex } // with Until

func (l mutexLease) Token() string { return l.Value() }

func (l mutexLease) Extend(ctx context.Context) error {
	_, err := l.ExtendContext(ctx)
	return err
}

func (l mutexLease) Release(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}
