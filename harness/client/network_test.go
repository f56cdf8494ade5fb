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

// Until the node is back, every command is known not to have reached it.
func TestNode_ComesBack_IsUsedAtOnce(t *testing.T) {
	server := miniredis.RunT(t)
	away := true
	n := newNetwork(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if away {
			return nil, errors.New("no route to host")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}, nil, "")
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

func TestOwnClients_HaveTheLocksOptions(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		network := c.lockNetwork(c.setup.Nodes)
		lastSent := func(key string, since time.Duration) time.Duration {
			at, several := network.LastSent(key, since)
			require.Empty(t, several)
			return at
		}
		require.Zero(t, lastSent("k1", 0))
		require.False(t, network.Dialled())
		made := network.Redis(1, func(o *redis.Options) { o.MaxRetries, o.PoolSize = 7, 1 })
		require.Zero(t, made.Options().MaxRetries, "the gate sends again")
		require.Equal(t, 1, made.Options().PoolSize)
		require.Equal(t, network.Servers[1].Addr, made.Options().Addr)
		require.NoError(t, made.Ping(t.Context()).Err())
		require.True(t, network.Dialled())
		require.Zero(t, lastSent("k1", 0), "a PING is about no key")
		time.Sleep(time.Second)
		require.ErrorIs(t, made.Get(t.Context(), "lock:k1").Err(), redis.Nil)
		require.Zero(t, lastSent("k1", 0), "a GET takes no key")
		_, err := made.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Get(t.Context(), "lock:k1")
			p.Del(t.Context(), "lock:k1")
			return nil
		})
		require.ErrorIs(t, err, redis.Nil)
		require.Equal(t, c.clock.Now().Milliseconds(), lastSent("k1", 0).Milliseconds())
		time.Sleep(time.Second)
		require.NoError(t, made.Set(t.Context(), "lock:k1", "t", 0).Err())
		taken := c.clock.Now().Milliseconds()
		time.Sleep(time.Second)
		require.NoError(t, made.Incr(t.Context(), "fence:k1").Err())
		require.Equal(t, taken, lastSent("k1", 0).Milliseconds(), "who has the lock may count its holders then")
		since := c.clock.Now() - time.Millisecond
		require.Equal(t, c.clock.Now().Milliseconds(), lastSent("k1", since).Milliseconds(), "it took it so, since")

		require.NoError(t, made.Set(t.Context(), "k1", "t", 0).Err())
		taken = c.clock.Now().Milliseconds()
		time.Sleep(time.Second)
		require.NoError(t, made.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{"fence:k1"}).Err())
		require.Equal(t, taken, lastSent("k1", since).Milliseconds(), "a word that is the key counts before others")
		lastSent("k2", 0)
		since = c.clock.Now()
		require.NoError(t, made.Set(t.Context(), "lock:k2", "t", 0).Err())
		time.Sleep(time.Second)
		require.NoError(t, made.Expire(t.Context(), "count:k2", time.Hour).Err())
		_, several := network.LastSent("k2", since)
		require.Equal(t, []string{"count:k2", "lock:k2"}, several, "which of them is the lock's key is not known")
		_, several = network.LastSent("k2", c.clock.Now())
		require.Empty(t, several, "one of them was sent since")
		require.NoError(t, made.Close(), "whoever made it may close it")

		_, err = network.Dial(t.Context(), "tcp", "127.0.0.1:6379")
		require.ErrorContains(t, err, "not one of the lock's servers")
		w.sites[c.setup.Nodes[0]].set(func(s *site) { s.down = true })
		_, err = network.Dial(t.Context(), "tcp", network.Servers[0].Addr)
		require.Error(t, err)
		_, ours := errors.AsType[*dialError](err)
		require.False(t, ours, "libraries see what a network would say")
	})
}

// Commands, alone and in a pipeline, use the tagged key, and the lock gets the replies as for its own key.
func TestTaggedKeys(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	client.AddHook(tagged("{2}:"))

	words := []any{"set", "k1", "mine", "nx", "get", "px", 10_000}
	set := redis.NewStringCmd(t.Context(), words...)
	require.ErrorIs(t, client.Process(t.Context(), set), redis.Nil)
	require.ErrorIs(t, set.Err(), redis.Nil)
	require.Equal(t, "k1", words[1], "other nodes are sent the same words")
	require.Equal(t, []string{"{2}:k1"}, server.Keys())

	pipe := client.Pipeline()
	info, again, got := pipe.Ping(t.Context()), pipe.SetNX(t.Context(), "k1", "other", time.Second),
		pipe.Get(t.Context(), "k1")
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	require.Equal(t, "PONG", info.Val(), "what is about no key is as it was")
	require.False(t, again.Val())
	require.Equal(t, "mine", got.Val())

	require.True(t, client.PExpire(t.Context(), "k1", time.Minute).Val())
	require.Equal(t, time.Minute, client.PTTL(t.Context(), "k1").Val())
	require.Equal(t, int64(1), client.Eval(t.Context(), "return redis.call('del', KEYS[1])", []string{"k1"}).Val())
	require.Empty(t, server.Keys())
	require.Error(t, client.Eval(t.Context(), "no Lua", []string{"k1"}).Err())
	require.Equal(t, int64(1), client.Incr(t.Context(), "k1").Val())
	require.Equal(t, int64(1), client.Del(t.Context(), "k1").Val())
}

// Redis 8.4 and Valkey 9 have commands of their own that compare and act.
func TestTaggedKeys_CommandOfNewerServer_HasTheTag(t *testing.T) {
	for _, words := range [][]any{{"delex", "k1", "ifeq", "mine"}, {"delifeq", "k1", "mine"}} {
		cmd := redis.NewCmd(t.Context(), words...)
		send := tagged("{2}:").ProcessHook(func(_ context.Context, sent redis.Cmder) error {
			require.Equal(t, "{2}:k1", sent.Args()[1])
			return nil
		})
		require.NoError(t, send(t.Context(), cmd))
		require.Equal(t, "k1", cmd.Args()[1], "other nodes are sent the same words")
	}
}
