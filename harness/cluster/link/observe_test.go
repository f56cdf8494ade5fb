package link

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that stops at a command has not sent it yet; one that stops at a reply has not read it.
func TestObserve_Hold_CommandWaitsForLetGo(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.redis.Ping(t.Context()).Err()) // connects
		messages := 0
		r.link.Observe(func() bool { messages++; return true })
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			_, err := r.link.LetGo()
			require.NoError(t, err)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, r.redis.Set(ctx, "k1", "a", 0).Err())
		require.GreaterOrEqual(t, time.Since(began), time.Second)
		require.Equal(t, 2, messages)
	})
}

func TestObserve_EachMessageInBothDirections(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.redis.Ping(t.Context()).Err()) // connects
		messages := 0
		r.link.Observe(func() bool { messages++; return false })
		require.NoError(t, r.redis.Set(t.Context(), "k1", "a", 0).Err())
		require.Equal(t, 2, messages)
		require.NoError(t, r.redis.Get(t.Context(), "k1").Err())
		require.Equal(t, 4, messages)
		r.link.Observe(nil)
		require.NoError(t, r.redis.Get(t.Context(), "k1").Err())
		require.Equal(t, 4, messages)
	})
}
