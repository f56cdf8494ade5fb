package html

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is later is never further left, and the ends are the ends.
func TestScaleKeepsTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		until := rapid.Int64Range(1, 1e12).Draw(t, "until")
		times := rapid.SliceOfN(rapid.Int64Range(0, until), 0, 40)
		s := newScale(0, until, times.Draw(t, "edges"), times.Draw(t, "turns"))
		require.Equal(t, margin, s.x(0))
		require.InDelta(t, plotWidth-margin, s.x(until), 0.2)
		a, b := rapid.Int64Range(0, until).Draw(t, "a"), rapid.Int64Range(0, until).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		require.LessOrEqual(t, s.x(a), s.x(b))
	})
}

func TestScaleIsEvenWhereItCanBe(t *testing.T) {
	s := newScale(0, 1000, []int64{3, 4}, []int64{100, 500, 900})
	require.True(t, s.even)
	require.Len(t, s.knots, 2)
	require.InDelta(t, plotWidth/2, s.x(500), 0.1)
}

// Microseconds can be told apart beside a second.
func TestScaleShortensQuietStretches(t *testing.T) {
	turns := []int64{50_000, 1_574_000, 1_624_000, 1_674_000, 1_724_000, 3_315_000}
	s := newScale(0, 988_050_000, nil, turns)
	require.False(t, s.even)
	for i := 1; i < len(turns); i++ {
		require.GreaterOrEqual(t, s.x(turns[i])-s.x(turns[i-1]), float64(roomy))
	}
}
