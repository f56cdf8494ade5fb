package lock

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJain(t *testing.T) {
	require.Equal(t, 1.0, jain([]int{5, 5, 5, 5}))
	require.Equal(t, 0.25, jain([]int{9, 0, 0, 0}))
	require.Equal(t, 1.0, jain([]int{0, 0}))
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 20).Draw(t, "shares")
		index := jain(shares)
		require.GreaterOrEqual(t, index, 1/float64(len(shares))-1e-9)
		require.LessOrEqual(t, index, 1+1e-9)
	})
}
