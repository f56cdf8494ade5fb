package client

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// Threads share the client and its lock, and nothing else: each has leases of its own.
func TestThreadsHaveLeasesOfTheirOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		held := c.do(Command{Do: DoAcquire, Key: "k1", Thread: "b", Within: ttl / 4})
		require.Equal(t, history.TypeFail, held.Outcome, "the first thread has it")
		require.Contains(t, c.do(Command{Do: DoRelease, Key: "k1", Thread: "b"}).Error, "no lease on k1")
		require.Equal(t, history.TypeOK, c.do(Command{Do: DoAcquire, Key: "k2", Thread: "b"}).Outcome)
		require.Contains(t, c.do(Command{Do: DoRelease, Key: "k2"}).Error, "no lease on k2", "it is the other's")
		c.must(history.TypeOK, DoRelease)
		require.Equal(t, "k1", c.last().Key)
		require.Equal(t, history.TypeOK, c.do(Command{Do: DoRelease, Thread: "b"}).Outcome)
		require.Equal(t, "k2", c.last().Key)
		require.ErrorContains(t, c.Send(Command{Do: DoCancel, Serial: 99, Thread: "b"}), "not to one of its threads")
	})
}

// What one thread waits for holds up no other.
func TestThreadsGoOnBesideOneAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, other := w.client(nil), w.client(nil)
		other.must(history.TypeOK, DoAcquire)
		waits := c.send(Command{Do: DoAcquire, Key: "k1", Within: 10 * ttl})
		began := time.Now()
		require.Equal(t, history.TypeOK, c.do(Command{Do: DoAcquire, Key: "k2", Thread: "b"}).Outcome)
		require.Less(t, time.Since(began), ttl/4)
		require.Empty(t, waits, "the first thread still waits")
		other.must(history.TypeOK, DoRelease)
		require.Equal(t, history.TypeOK, (<-waits).Outcome)
	})
}

// Commands beyond the pool's size wait for their turn, for as long as a pool would let
// them, and what belongs to a command's turn needs none of its own.
func TestCommandsWaitForTheirTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		one := newTurns(1, time.Second)
		nothing := func(context.Context) error { return nil }
		require.NoError(t, one.take(t.Context(), func(ctx context.Context) error {
			require.NoError(t, one.take(ctx, nothing), "of the same turn")
			began := time.Now()
			require.ErrorIs(t, one.take(t.Context(), nothing), redis.ErrPoolTimeout)
			require.Equal(t, time.Second, time.Since(began))
			soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, one.take(soon, nothing), context.DeadlineExceeded)
			return nil
		}))
		require.NoError(t, one.take(t.Context(), nothing))
	})
}
