package shim

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// identify returns a file's identity, as shim.c computes it, and its length.
func identify(path string) (name File, length int64, err error) {
	var s unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_SIZE|unix.STATX_BTIME, &s)
	if err != nil {
		return File{}, 0, fmt.Errorf("statx %s: %w", path, err)
	}
	name = File{Major: uint64(s.Dev_major), Minor: uint64(s.Dev_minor), Inode: s.Ino}
	if s.Mask&unix.STATX_BTIME != 0 {
		name.Born = s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
	}
	return name, int64(s.Size), nil
}

func mapFile(f *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmap(mapped []byte) error { return syscall.Munmap(mapped) }
