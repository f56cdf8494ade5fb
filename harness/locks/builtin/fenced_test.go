package builtin

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// tokens lets clients get the lock one after another, each from the nodes that
// are listed, and gives their fencing tokens.
func (w *world) tokens(lock string, nodes ...[]int) []int64 {
	var tokens []int64
	for _, reached := range nodes {
		for i, n := range w.nodes {
			n.down.Store(!slices.Contains(reached, i))
		}
		lease, err := w.lock(lock, locks.Options{}).Acquire(w.t.Context(), "k1")
		require.NoError(w.t, err)
		tokens = append(tokens, lease.Fence())
		require.NoError(w.t, lease.Release(w.t.Context()))
		synctest.Wait() // what nobody waits for any more must not reach a node that is up again
	}
	return tokens
}

var all = []int{0, 1, 2, 3, 4}

func TestALockTokenHasNoOrder(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *world) {
		tokens := w.tokens("redlock-fenced-by-lock-token", slices.Repeat([][]int{all}, 12)...)
		require.False(t, slices.IsSorted(tokens), "%v", tokens)
		for _, token := range tokens {
			require.Positive(t, token)
			require.LessOrEqual(t, token, int64(1)<<48, "a script's number holds it exactly")
		}
	})
}

func TestACounterOnOneNodeIsLostWithIt(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *world) {
		require.Equal(t, []int64{1, 2}, w.tokens("redlock-fenced-by-one-node", all, all))
		w.nodes[0].FlushAll()
		require.Equal(t, []int64{1}, w.tokens("redlock-fenced-by-one-node", all))
		w.nodes[0].down.Store(true)
		_, err := w.lock("redlock-fenced-by-one-node", locks.Options{Tries: 1}).Acquire(t.Context(), "k1")
		require.Equal(t, history.ReasonNoMajority, locks.Reason(err), err)
		require.ErrorContains(t, err, "count fence:k1")
	})
}

// The same grants under the lock that writes a token back to a majority.
func TestCountsThatAreNotWrittenBackDiverge(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *world) {
		first, second, third := []int{0, 1, 2}, []int{0, 3, 4}, []int{1, 2, 3}
		grants := [][]int{first, second, first, second, third}
		require.Equal(t, []int64{1, 2, 3, 4, 3}, w.tokens("redlock-fenced-by-highest", grants...))
		for _, n := range w.nodes {
			n.FlushAll()
		}
		require.Equal(t, []int64{1, 2, 3, 4, 5}, w.tokens("redlock-fenced", grants...))
	})
}
