package locktest_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/locktest"
)

// Bare's clients use the given servers in order, with the lock's options, and are closed by end.
func TestBare(t *testing.T) {
	first, second := miniredis.RunT(t), miniredis.RunT(t)
	env, end := locktest.Bare(10*time.Second, first.Addr(), second.Addr())
	require.Equal(t, 10*time.Second, env.TTL)
	require.Positive(t, env.NodeTimeout, "what a scenario would have asked for")
	client := env.Client(1, func(o *redis.Options) { o.ClientName = "bare" })
	require.Equal(t, "bare", client.Options().ClientName)
	require.NoError(t, client.Set(t.Context(), "k", "v", env.TTL).Err())
	require.True(t, second.Exists("k"))
	require.False(t, first.Exists("k"))
	conn, err := env.Dial(t.Context(), "tcp", env.Server(0).Addr)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, env.Context().Err())
	require.NoError(t, end())
	require.Error(t, env.Context().Err())
	require.Error(t, client.Ping(t.Context()).Err(), "it is closed")
}
