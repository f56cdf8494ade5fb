package memory

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeakSeesWhatWasTaken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak is read from /proc")
	}
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
