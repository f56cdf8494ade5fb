package process

import (
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// TestChildrenOutliveThreads ends many threads of this process, each of which
// would take with it the children that it had forked.
func TestChildrenOutliveThreads(t *testing.T) {
	needs.Commands(t, "sleep")
	const children, threads = 10, 20
	for range children {
		cmd := exec.Command("sleep", "60")
		// Sent from a goroutine of its own, so that no thread is preferred.
		started := make(chan error)
		go func() { started <- Start(cmd) }()
		require.NoError(t, <-started)
		gone := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(gone)
		}()
		endThreads(threads)
		select {
		case <-gone:
			require.Fail(t, "the child died with a thread")
		default:
		}
		require.NoError(t, cmd.Process.Kill())
		<-gone
	}
}

// endThreads ends threads: a goroutine that ends while it is locked to its
// thread takes the thread with it.
func endThreads(n int) {
	var all sync.WaitGroup
	for range n {
		all.Go(runtime.LockOSThread)
	}
	all.Wait()
}
