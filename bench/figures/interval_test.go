package figures

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rounds are as skewed as those of a busy machine, with a median of 1: nineteen of twenty intervals contain it.
func TestIntervals_ContainTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rounds := range []int{6, 25, 400} {
		const samples = 4000
		held := 0
		for range samples {
			values := make([]float64, rounds)
			for i := range values {
				values[i] = math.Exp(r.NormFloat64())
				if r.IntN(10) == 0 && values[i] > 1 {
					values[i] *= 100
				}
			}
			if i := Of("f", Ratio, values...).WithInterval().Interval; i.Low <= 1 && 1 <= i.High {
				held++
			}
		}
		require.GreaterOrEqual(t, held, samples*94/100, "%d rounds", rounds)
		require.LessOrEqual(t, held, samples*98/100, "%d rounds", rounds)
	}
}

func TestFewRoundsHaveNoInterval(t *testing.T) {
	require.Nil(t, Of("f", Ratio, 1, 1, 1, 1, 1).WithInterval().Interval)
	require.NotNil(t, Of("f", Ratio, 1, 1, 1, 1, 1, 1).WithInterval().Interval)
	require.False(t, SurelyAtLeast("f", Of("f", Ratio, 1, 1, 1), 0.5).Reached, "unknown is not sure")
	require.False(t, SurelyAtMost("f", Of("f", Ratio, 1, 1, 1), 2).Reached)
}

// A sure target needs the whole interval.
func TestSureTargets(t *testing.T) {
	f := Of("f", Ratio, 1)
	f.Interval = &Interval{0.98, 1.02, 0.95}
	require.True(t, SurelyAtLeast("", f, 0.98).Reached)
	require.False(t, SurelyAtLeast("", f, 0.981).Reached)
	require.True(t, SurelyAtMost("", f, 1.02).Reached)
	require.False(t, SurelyAtMost("", f, 1.019).Reached)
	require.Equal(t, "✓ pairs: 1.000 [0.980, 1.020], wanted at least 0.98 x", SurelyAtLeast("pairs", f, 0.98).String())
	require.Equal(t, "1.000 [0.980, 1.020]", f.String())
}
