package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
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
