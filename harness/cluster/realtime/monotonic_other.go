//go:build !linux

package realtime

import "time"

// started is the program's start: without worker processes, no other process shares this clock.
var started = time.Now()

// Monotonic is the time since the program started, in nanoseconds.
func Monotonic() int64 { return int64(time.Since(started)) }
