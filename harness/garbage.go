package harness

import (
	"runtime/debug"
	"sync/atomic"
)

// memoryLimit is from how much memory on Go's collector works harder rather than
// let garbage pile up. It is no bound: what is alive stays.
const memoryLimit = 160 << 20

// frugal sets the limit, or a lower one that the user has set (GOMEMLIMIT). The
// function that it returns puts things back.
func frugal() (restore func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, memoryLimit))
	return func() { debug.SetMemoryLimit(before) }
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
