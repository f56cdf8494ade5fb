package link

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/alicebob/miniredis/v2"

	"example.org/lockproof/harness/history"
)

func TestWhatACommandToTheStoreMeans(t *testing.T) {
	for _, c := range []struct {
		command string
		want    command
	}{
		{"GET value:k1", command{Name: "GET", Key: "value:k1", Effect: history.EffectRead}},
		{"set value:k1 v1", command{Name: "SET", Key: "value:k1", Token: "v1", Effect: history.EffectSet}},
		{"EVAL text 2 value:k1 fence:k1 7", command{Name: "EVAL", Key: "value:k1", Effect: history.EffectRead, fence: 7}},
		{"EVALSHA digest 2 value:k1 fence:k1 7 v1", command{Name: "EVALSHA", Key: "value:k1", Token: "v1",
			Effect: history.EffectSet, nx: true, fence: 7}},
		{"EVAL text 1 value:k1 v0 v1", command{Name: "EVAL", Key: "value:k1", Token: "v1", Effect: history.EffectSet, nx: true,
			base: "v0"}},
		// A key that is none of a register's.
		{"GET fence:k1", command{Name: "GET"}},
		{"PING", command{Name: "PING"}},
		{"EVAL", command{Name: "EVAL"}},
		{"EVAL text 0", command{Name: "EVAL"}},
		{"EVAL text 9 value:k1", command{Name: "EVAL"}},
		{"EVAL text many value:k1", command{Name: "EVAL"}},
	} {
		got := parseStoreCommand(resp(strings.Fields(c.command)...))
		if c.want.Effect == "" {
			require.Empty(t, got.Effect, c.command)
			continue
		}
		require.Equal(t, c.want, got, c.command)
	}
	require.Equal(t, command{}, parseStoreCommand([]byte("+OK\r\n")), "a reply is no command")
}

// Of what passes on a link to the store, what is done to registers is recorded.
func TestALinkToTheStoreTellsOfRegisters(t *testing.T) {
	m := miniredis.RunT(t)
	var events []history.Event
	l := New(Config{Client: "c1", Node: history.StoreName, Now: func() int64 { return 0 },
		Record: func(e history.Event) { events = append(events, e) }})
	c := redis.NewClient(&redis.Options{Addr: overTCP(t, l, m.Addr()), MaxRetries: -1, DisableIdentity: true})
	require.NoError(t, c.Incr(context.Background(), "fence:k1").Err())
	require.NoError(t, c.Set(context.Background(), "value:k1", "v1", 0).Err())
	require.NoError(t, c.Get(context.Background(), "value:k1").Err())
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	require.Len(t, events, 4)
	require.Equal(t, "c1>store", events[0].Process)
	require.Equal(t, "v1", events[0].Command.Token)
	require.True(t, events[0].Command.Unconditional)
	require.Equal(t, "OK", events[1].Command.Reply)
	require.True(t, events[1].Command.Done)
	require.Equal(t, history.EffectRead, events[2].Command.Effect)
	require.Equal(t, "v1", events[3].Command.Reply)
}
