package client

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// trueClock gives the host's CLOCK_MONOTONIC, which all processes share,
// counted from epoch.
func trueClock(epoch int64) (func() int64, error) {
	read := func() (int64, error) {
		var t unix.Timespec
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		return t.Nano() - epoch, err
	}
	if _, err := read(); err != nil {
		return nil, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
	}
	return func() int64 {
		t, _ := read() // it has just worked, and does not depend on anything
		return t
	}, nil
}
