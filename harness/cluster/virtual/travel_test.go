package virtual

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTravelTimesLieAroundTheBase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "base"))
		grid := time.Duration(rapid.SampledFrom([]int{0, 1, 1000}).Draw(t, "grid"))
		travel := newTravel(rapid.Uint64().Draw(t, "seed"), base, grid)
		for message := range 20 {
			took := int64(travel.message(message%2 == 0, message%3, message))
			require.Greater(t, took, travel.base-travel.grid)
			require.LessOrEqual(t, took, travel.base+travel.base/2)
			require.Zero(t, took%travel.grid)
		}
	})
}
