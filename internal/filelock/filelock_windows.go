package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const (
	exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK
	shared    = 0
)

// place is the locked byte: Windows prevents reads of locked bytes, and no file is that long.
func place() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func lock(file *os.File, how int) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), uint32(how)|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, place())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
