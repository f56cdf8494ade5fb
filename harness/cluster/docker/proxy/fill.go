package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ballastFile is what fills a small disk. No server knows a file of that name.
const ballastFile = "lockproof-ballast"

// mostBallast is more than any small disk has room for, in bytes. Whatever else is
// mounted in its place is not to be filled.
const mostBallast = 16 << 20

// fill leaves no room on a server's small disk, or makes room again. A server may
// have some left all the same, in the last block of a file of its own.
func (m *machines) fill(server string, full bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	disk := m.disks[server]
	switch small := disk == filepath.Join(m.small, server); {
	case small && full:
		return pile(filepath.Join(disk, ballastFile))
	case small:
		err := os.Remove(filepath.Join(disk, ballastFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	case full:
		return fmt.Errorf("the disk of %s is not a small one, and will not be filled: the run has to ask for one", server)
	}
	return nil
}

// pile writes to a file until its disk has no room.
func pile(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	chunk := make([]byte, 64<<10)
	for size := 0; size < mostBallast; size += len(chunk) {
		if _, err := f.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return errors.Join(fmt.Errorf("%s is on no small disk: %d bytes do not fill it", file, mostBallast), os.Remove(file))
}
