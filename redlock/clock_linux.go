package redlock

import (
	"time"

	"golang.org/x/sys/unix"
)

// CLOCK_BOOTTIME advances while the machine is suspended. Go's monotonic clock stops, so that a laptop would wake
// up and believe in a lease that the servers expired long ago.
func init() {
	sinceStart := sinceBoot
	sinceBoot = func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			return sinceStart() // before Linux 2.6.39
		}
		return time.Duration(ts.Nano())
	}
}
