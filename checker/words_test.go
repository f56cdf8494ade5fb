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
	require.Contains(t, s.judged(t, MutualExclusion).Violations[0].What, "while c1 still held it, with no end: both held it for ")
	require.Equal(t, "an unlimited time", formatDuration(int64(24*time.Hour)))
	require.Equal(t, "86399.000 s", formatDuration(int64(24*time.Hour-time.Second)))
	require.Equal(t, "until 0.900 s", untilEnd(900*ms))
}
