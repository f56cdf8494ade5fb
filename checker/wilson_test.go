package checker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWilson(t *testing.T) {
	tests := []struct {
		violated, trials int
		low, high        float64
	}{
		{0, 0, 0, 1},
		{0, 300, 0, 0.01264},
		{300, 300, 0.98736, 1},
		{0, 1, 0, 0.79345},
		{1, 10, 0.01788, 0.40415},
		{50, 100, 0.40383, 0.59617},
	}
	for _, test := range tests {
		low, high := Wilson(test.violated, test.trials)
		require.InDelta(t, test.low, low, 5e-5, "%v", test)
		require.InDelta(t, test.high, high, 5e-5, "%v", test)
	}
	for n := 1; n <= 2000; n++ { // rounding does not move the ends of the scale
		low, _ := Wilson(0, n)
		_, high := Wilson(n, n)
		require.Zero(t, low)
		require.Equal(t, 1.0, high)
	}
}
