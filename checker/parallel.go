package checker

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelFor calls f with each of 0 to n-1, on all processors at a time.
func parallelFor(n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
