package memory

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

func TestPeak_IncludesAllocatedMemory(t *testing.T) {
	_, err := os.Stat("/proc/self/status") // has the peak
	needs.Check(t, needs.System, err)
	const size = 64 << 20
	idle := Watch()
	before, ok := idle()
	require.True(t, ok)
	watch := Watch()
	b := make([]byte, size)
	for i := range b {
		b[i] = 1
	}
	runtime.KeepAlive(b)
	after, ok := watch()
	require.True(t, ok)
	require.Greater(t, after-before, int64(size/2))
}
