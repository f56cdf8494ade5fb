package lock

import (
	"time"

	"golang.org/x/sys/windows"
)

// processorTime is this process's time so far, in user and system mode.
func processorTime() (time.Duration, error) {
	var created, ended, system, user windows.Filetime
	err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &system, &user)
	const tick = 100 * time.Nanosecond
	ticks := func(f windows.Filetime) time.Duration {
		return tick * time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime))
	}
	return ticks(system) + ticks(user), err
}
