package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A node that was away for long is noticed as soon as it is back, and until then
// every command is known not to have reached it.
func TestANodeThatComesBackIsNoticedAtOnce(t *testing.T) {
	server := miniredis.RunT(t)
	away := true
	n := newNetwork(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if away {
			return nil, errors.New("no route to host")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}, nil, "", Setup{}.key)
	defer n.end()
	c := redis.NewClient(n.options(time.Second, 0, nil, server.Addr()).Simple())
	defer c.Close()
	for range 2 * poolSize(time.Second) {
		err := c.Ping(t.Context()).Err()
		require.EqualError(t, err, "dial "+server.Addr()+": no route to host")
		require.ErrorAs(t, err, new(*dialError))
	}
	away = false
	require.NoError(t, c.Ping(t.Context()).Err())
}
