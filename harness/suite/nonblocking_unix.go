//go:build unix

package suite

import (
	"io"
	"os"
	"syscall"
)

// nonBlocking makes reads wait without a processor. A blocking read holds one until the runtime notices, some ten
// milliseconds: as long as a whole trial on a machine with one processor.
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
