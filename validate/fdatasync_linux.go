package validate

import (
	"os"

	"golang.org/x/sys/unix"
)

// fdatasync is what redis-server calls on Linux.
func fdatasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
