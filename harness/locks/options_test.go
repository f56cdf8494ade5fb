package locks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDefaultsSuitEveryTTL(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{TTL: time.Duration(rapid.Int64Range(int64(100*time.Millisecond), int64(10*time.Minute)).Draw(t,
			"ttl"))}.WithDefaults()
		require.Less(t, o.NodeTimeout, o.TTL/4)
		require.Less(t, o.RetryMax, o.TTL/4)
		require.Greater(t, o.RetryMax, o.RetryMin)
		require.Less(t, o.TTL/o.RetryMin, time.Duration(21), "however long the TTL, one costs so many attempts at most")
		require.Equal(t, o, o.WithDefaults(), "defaults change nothing that is set")
	})
}
