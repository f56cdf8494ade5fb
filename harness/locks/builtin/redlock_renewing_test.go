package builtin

import (
	"context"
	"testing"
	"time"

	"example.org/lockproof/harness/locks"
	"github.com/stretchr/testify/require"
)

// TestRenewing_HoldsUntilReleased: nobody else gets the key for ten TTLs, and somebody does after the release.
func TestRenewing_HoldsUntilReleased(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *world) {
		lease, err := w.lock(Renewing, locks.Options{}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		other := w.lock(locks.Reference, locks.Options{Tries: 1})
		for range 10 {
			time.Sleep(ttl)
			_, err := other.Acquire(t.Context(), "k1")
			require.Error(t, err, "the lease is extended by itself")
		}
		require.NoError(t, lease.Release(context.Background()))
		_, err = other.Acquire(t.Context(), "k1")
		require.NoError(t, err)
	})
}
