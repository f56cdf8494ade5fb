package locks

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net"
	"strconv"
	"testing"

	"github.com/redis/rueidis"

	"example.org/lockproof/harness/locktest"
)

// rueidis connects by address and dialler. Without its cache it works in virtual time.
func TestRueidis(t *testing.T) {
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		server := env.Server(0)
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{server.Addr}, Password: server.Password, ForceSingleClient: true, DisableCache: true,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return env.Dial(ctx, "tcp", addr)
			},
		})
		return &rueidisLock{client, strconv.FormatInt(env.TTL.Milliseconds(), 10)}, err
	}, mutualExclusion, fromCall, noDriftMargin)
}

type rueidisLock struct {
	client rueidis.Client
	ttl    string
}

func (l *rueidisLock) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	token := rand.Text()
	err := l.client.Do(ctx, l.client.B().Arbitrary("SET").Keys(key).Args(token, "NX", "PX", l.ttl).Build()).Error()
	if rueidis.IsRedisNil(err) {
		err = locktest.ErrHeld
	}
	return locktest.ReleaseFunc(func(ctx context.Context) error {
		return l.client.Do(ctx, l.client.B().Eval().Script(compareAndDelete).Numkeys(1).Key(key).Arg(token).Build()).Error()
	}), err
}

func (l *rueidisLock) Close() error {
	l.client.Close()
	return nil
}
