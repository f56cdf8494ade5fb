package suite

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The collector must not run without end because much is kept: the limit stays
// well above what is alive, and comes down with it.
func TestTheMemoryLimitGrowsWithWhatIsKept(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	f := tuneCollector()
	limit := func() int64 {
		runtime.GC()
		f.allow()
		return debug.SetMemoryLimit(-1)
	}
	loadBallast()
	require.EqualValues(t, min(before, memoryLimit), limit())
	require.NotNil(t, ballast.Load())

	kept := make([]byte, 300<<20)
	require.GreaterOrEqual(t, limit(), min(before, int64(2*len(kept))))
	require.Nil(t, ballast.Load(), "what is kept is ballast enough")
	runtime.KeepAlive(kept)
	kept = nil
	require.EqualValues(t, min(before, memoryLimit), limit())
	f.end()
	require.Equal(t, before, debug.SetMemoryLimit(-1))
}

func TestTheUsersMemoryLimitIsNotRaised(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(100 << 20))
	f := tuneCollector()
	defer f.end()
	f.allow()
	require.EqualValues(t, 100<<20, debug.SetMemoryLimit(-1))
}
