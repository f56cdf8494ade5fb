package client

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A lock's commands, one by one and in a pipeline, are about the key with its tag, and the
// lock is answered as if they were about the one that it named.
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
	info, again, got := pipe.Ping(t.Context()), pipe.SetNX(t.Context(), "k1", "other", time.Second), pipe.Get(t.Context(), "k1")
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
