package redlock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads CLOCK_BOOTTIME. Go's own monotonic clock is CLOCK_MONOTONIC,
// which stands still while the machine is suspended, so a laptop or a migrated
// virtual machine would wake up believing in a lease that the servers, whose
// clocks went on, had long expired.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return sinceStart() // kernels before 2.6.39
	}
	return time.Duration(ts.Nano())
}
