package inputtest

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// The limits of all allocations, kept or not, and of the elapsed time on a busy machine. A bomb exceeds them by far.
const (
	mostBytes    = 512 << 20
	mostForEach  = 64 // and for each byte of the text
	mostTime     = 20 * time.Second
	pollInterval = 5 * time.Millisecond
)

// Bounded runs a parser on a text of this size. A parser that exceeds a limit may never end, and use all memory:
// Bounded then ends the process, which a fuzzer reports as a crash by that text.
func Bounded(t testing.TB, size int, parse func()) {
	t.Helper()
	before, began, done := allocated(), time.Now(), make(chan struct{})
	limit := uint64(mostBytes + mostForEach*size)
	excess := func() string {
		switch used := allocated() - before; {
		case used > limit:
			return fmt.Sprintf("a text of %d bytes has taken %d MB of memory", size, used>>20)
		case time.Since(began) > mostTime:
			return fmt.Sprintf("a text of %d bytes has taken %s", size, mostTime)
		}
		return ""
	}
	go func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if what := excess(); what != "" {
					panic(t.Name() + ": " + what)
				}
			}
		}
	}()
	parse()
	close(done)
	if what := excess(); what != "" {
		t.Fatal(what)
	}
}

// allocated returns the bytes allocated by the process so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
