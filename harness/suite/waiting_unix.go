//go:build unix

package suite

import (
	"io"
	"os"
	"syscall"
)

// nonBlocking gives an input for which a goroutine can wait without a processor. For a
// file that blocks it holds one until the runtime notices, some ten milliseconds:
// as long as a trial takes, where there is one processor.
func nonBlocking(in io.Reader) io.Reader {
	file, ok := in.(*os.File)
	if !ok {
		return in
	}
	fd := file.Fd()
	if syscall.SetNonblock(int(fd), true) != nil {
		return in
	}
	return os.NewFile(fd, file.Name())
}
