package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Limits in bytes for files of each kind: many times the usual size, and little enough to be held in memory several
// times.
const (
	YAML    int64 = 256 << 10 // a document: a scenario, a compose file, a Kubernetes object
	Config  int64 = 1 << 20   // redis.conf
	Objects int64 = 4 << 20   // all Kubernetes objects of an operator
)

// Line is the limit in bytes for a line of a file of any length.
const Line = 1 << 20

// ErrIrregular is wrapped in the error for a directory, a pipe or a device.
var ErrIrregular = errors.New("not a regular file")

// TooLarge is wrapped in the error for a file above the limit of its kind.
type TooLarge struct{ Size, Max int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("it has %d bytes, and such a file has at most %d", e.Size, e.Max)
}

// Open opens a regular file of any size. It follows links, and checks the target before it opens it, since opening a
// named pipe waits for a writer. The error is an *fs.PathError.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: Cause(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, irregular(name, info.Mode())
	}
	return os.Open(name)
}

// irregular is the error for something other than a regular file.
func irregular(name string, mode fs.FileMode) error {
	what := "it is something else"
	switch {
	case mode.IsDir():
		what = "it is a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "it is a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "it is a socket"
	case mode&fs.ModeDevice != 0:
		what = "it is a device"
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%s, %w", what, ErrIrregular)}
}

// Read reads a whole file of at most this many bytes. The error is an *fs.PathError.
func Read(name string, most int64) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: file.Name(), Err: &TooLarge{info.Size(), most}}
	}
	// Some files report a size of 0 and have content, such as those of /proc, and a file may grow.
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: file.Name(), Err: &TooLarge{int64(len(data)), most}}
	}
	return data, err
}

// Cause removes the file's name from an error, for a message that has the name already.
func Cause(err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}
