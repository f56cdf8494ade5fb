package suite

import (
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// memoryLimit is from how much memory on Go's collector works harder rather than
// let garbage pile up: in a trial that goes on for hours. It is no bound: what is
// alive stays.
const memoryLimit = 160 << 20

// collector tunes Go's, to keep the harness's memory low while a suite runs.
type collector struct {
	given int64 // the limit before, the user's where there is one (GOMEMLIMIT)
	limit int64
}

// tuneCollector sets the limit, or the user's if that is lower.
func tuneCollector() *collector {
	f := &collector{given: debug.SetMemoryLimit(-1)}
	f.set(memoryLimit)
	return f
}

func (f *collector) set(limit int64) {
	if limit = min(limit, f.given); limit != f.limit {
		f.limit = limit
		debug.SetMemoryLimit(limit)
	}
}

// allow raises the limit for what is kept of the trials so far, some 2 KB of
// each: close to a limit the collector runs all the time, and fifty thousand
// trials would never end. When much is kept, there is no need of ballast.
func (f *collector) allow() {
	const step = 32 << 20 // to set a limit stops the world
	live := liveHeap()
	if live > 2*ballastSize {
		dropBallast()
	}
	f.set(max(memoryLimit, (2*live/step+1)*step))
}

// end puts things back.
func (f *collector) end() {
	dropBallast()
	debug.SetMemoryLimit(f.given)
}

// liveHeap is how much the collector found alive when it last ran, in bytes.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// ballast keeps Go's collector from running after every few trials: each leaves
// a megabyte of garbage and hardly anything else, and the collector runs when
// there is as much garbage as there is live memory. An array counts as live
// memory from the moment that it exists, but takes none of the machine's as long
// as nobody writes to it. It is the process's, as the collector is.
var ballast atomic.Pointer[[]byte]

// ballastSize is how much garbage may at least pile up between two collections
// while trials run in virtual time.
const ballastSize = 64 << 20

// loadBallast takes the ballast on.
func loadBallast() {
	array := make([]byte, ballastSize)
	ballast.Store(&array)
}

// dropBallast lets it go: where much is alive, it would only let more garbage pile
// up.
func dropBallast() { ballast.Store(nil) }
