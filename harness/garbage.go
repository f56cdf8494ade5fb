package harness

import (
	"runtime"
	"runtime/debug"
)

// ballastSize is how much garbage may at least pile up between two collections
// while trials run in virtual time.
const ballastSize = 64 << 20

// memoryLimit is from how much memory on Go's collector works harder rather than
// let garbage pile up. It is no bound: what is alive stays.
const memoryLimit = 160 << 20

// frugal sets the limit, or a lower one that the user has set (GOMEMLIMIT). The function
// that it returns puts things back.
func frugal() (restore func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, memoryLimit))
	return func() { debug.SetMemoryLimit(before) }
}

// ballast keeps Go's collector from running after every few trials: each leaves
// a megabyte of garbage and hardly anything else, and the collector runs when
// there is as much garbage as there is live memory. An array counts as live
// memory from the moment that it exists, but takes none of the machine's as long
// as nobody writes to it. Unlike GOGC it weighs nothing when much is alive. The
// function that it returns lets the ballast go.
func ballast() (release func()) {
	b := make([]byte, ballastSize)
	return func() { runtime.KeepAlive(b) }
}
