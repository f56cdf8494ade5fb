package link

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that stops at a command has not sent it yet; one that stops at a reply has not read it.
func TestObserve_EachMessage_HoldsCommandsOnRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, r.redis.Ping(ctx).Err()) // connects
		messages, hold := 0, false
		r.link.Observe(func() bool { messages++; return hold })
		require.NoError(t, r.redis.Set(ctx, "k1", "a", 0).Err())
		require.Equal(t, 2, messages)

		hold = true
		received, began := -1, time.Now()
		go func() {
			time.Sleep(time.Second)
			received, _ = r.link.Count("GET")
			_, err := r.link.LetGo()
			require.NoError(t, err)
		}()
		require.NoError(t, r.redis.Get(ctx, "k1").Err())
		require.GreaterOrEqual(t, time.Since(began), time.Second)
		require.Zero(t, received, "the command is held, not its reply")
		require.Equal(t, 4, messages)
		r.link.Observe(nil)
		require.NoError(t, r.redis.Get(ctx, "k1").Err())
		require.Equal(t, 4, messages)
	})
}
