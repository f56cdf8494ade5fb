//go:build unix

package lock

import (
	"syscall"
	"time"
)

// processorTime is this process's time so far, in user and system mode.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
