package harness

import "runtime"

// ballastSize is how much garbage may at least pile up between two collections
// while trials run in virtual time.
const ballastSize = 64 << 20

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
