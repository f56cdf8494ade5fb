package checker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRightClock(t *testing.T) {
	var c clock
	require.EqualValues(t, 7, c.at(7))
	require.EqualValues(t, 12, c.timeAfter(5, 7, 0))
	require.EqualValues(t, never, c.timeAfter(never, 7, 0))
}

// timeAfter is the first time at which the clock has advanced by d.
func TestTimeAfter_IsTheFirstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c clock
		at := int64(0)
		for range rapid.IntRange(0, 4).Draw(t, "settings") {
			at += rapid.Int64Range(0, 40).Draw(t, "gap")
			c = append(c, setting{from: at, reading: rapid.Int64Range(-50, 150).Draw(t, "reading"),
				rate: rapid.SampledFrom([]float64{1, 0.5, 0.8, 1.25, 2}).Draw(t, "rate")})
		}
		from, d := rapid.Int64Range(0, 120).Draw(t, "from"), rapid.Int64Range(1, 60).Draw(t, "d")
		when := c.timeAfter(d, from, 0)
		target := float64(c.at(from) + d)
		exact := func(t int64) float64 {
			s := c.setting(c.indexAt(t))
			return float64(s.reading) + float64(t-s.from)*s.rate
		}
		require.GreaterOrEqual(t, exact(when), target-1e-6)
		for earlier := from; earlier < when; earlier++ {
			require.Less(t, exact(earlier), target)
		}
	})
}
