//go:build unix

package shim

import (
	"os"
	"syscall"
)

// mapFile maps a file into memory, for reading and writing.
func mapFile(f *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmap(mapped []byte) error { return syscall.Munmap(mapped) }
