package checker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lease that only its release ends has no end to be told, and what it shares with
// another of its kind no length.
func TestALeaseWithoutAnEndIsToldSo(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 1000*int64(time.Hour/time.Millisecond))
	s.grant("c2", 20, 30, 900)
	require.Contains(t, s.judged(t, MutualExclusion).Violations[0].What, "while c1 still held it, with no end: both "+
		"held it for ")
	require.Equal(t, "an unlimited time", formatDuration(int64(24*time.Hour)))
	require.Equal(t, "86399.000 s", formatDuration(int64(24*time.Hour-time.Second)))
	require.Equal(t, "until 0.900 s", untilEnd(900*ms))
}

func TestDurationsAreShort(t *testing.T) {
	for d, text := range map[int64]string{
		0: "0 µs", 1: "1 ns", 50: "0.1 µs", 1500: "1.5 µs", 999_000: "999 µs", ms: "1 ms", 131 * ms: "131 ms",
		1_500_000: "1.5 ms", 1000 * ms: "1.000 s", 1203 * ms: "1.203 s",
	} {
		require.Equal(t, text, formatDuration(d))
	}
}
