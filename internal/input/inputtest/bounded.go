package inputtest

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// The bounds: of what is allocated in all, kept or not, and of the time that
// passes, on a machine that may be busy. A bomb goes past them by far.
const (
	mostBytes   = 512 << 20
	mostForEach = 64 // and for each byte of the text
	mostTime    = 20 * time.Second
	look        = 5 * time.Millisecond
)

// Bounded runs a parser on a text of so many bytes. One that goes past a bound
// may never end, and take all memory before: it is ended with the whole process,
// which a fuzzer takes for the crash of that text.
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
		ticker := time.NewTicker(look)
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

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
