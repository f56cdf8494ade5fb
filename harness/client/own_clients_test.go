package client

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestALocksOwnClientsHaveItsOwnOptions(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		network := c.network(c.setup.Nodes)
		require.Zero(t, network.OnSend("k1"))
		require.False(t, network.Dialled())
		made := network.Redis(1, func(o *redis.Options) { o.MaxRetries, o.PoolSize = 7, 1 })
		require.Zero(t, made.Options().MaxRetries, "the gate sends again")
		require.Equal(t, 1, made.Options().PoolSize)
		require.Equal(t, network.Servers[1].Addr, made.Options().Addr)
		require.NoError(t, made.Ping(t.Context()).Err())
		require.True(t, network.Dialled())
		require.Zero(t, network.OnSend("k1"), "a PING is about no key")
		time.Sleep(time.Second)
		require.ErrorIs(t, made.Get(t.Context(), "lock:k1").Err(), redis.Nil)
		require.Equal(t, c.clock.Now().Milliseconds(), network.OnSend("k1").Milliseconds())
		require.NoError(t, made.Close(), "whoever made it may close it")

		_, err := network.Dial(t.Context(), "tcp", "127.0.0.1:6379")
		require.ErrorContains(t, err, "not one of the lock's servers")
		w.sites[c.setup.Nodes[0]].set(func(s *site) { s.down = true })
		_, err = network.Dial(t.Context(), "tcp", network.Servers[0].Addr)
		require.Error(t, err)
		_, ours := errors.AsType[*dialError](err)
		require.False(t, ours, "libraries see what a network would say")
	})
}
