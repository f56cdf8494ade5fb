//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	exclusive = unix.LOCK_EX
	shared    = unix.LOCK_SH
)

func lock(file *os.File, how int) (bool, error) {
	for {
		switch err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR): // a signal has interrupted it
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}
