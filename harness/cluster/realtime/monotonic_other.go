//go:build !linux

package realtime

import "time"

// started is when the program did: where there are no workers, it shares its clock with no
// other.
var started = time.Now()

// Monotonic is the time since the program started, in nanoseconds.
func Monotonic() int64 { return int64(time.Since(started)) }
