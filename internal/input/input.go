package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// How many bytes a file of each kind may have. Each is many times what such a
// file has, and little enough to be held in memory several times over.
const (
	YAML   int64 = 256 << 10 // a scenario, a compose file, a Kubernetes workload
	Config int64 = 1 << 20   // redis.conf, a systemd unit
)

// Line is how many bytes one line of a file may have that is read line by line
// and may be of any length.
const Line = 1 << 20

// ErrIrregular is in the error for what is there and is no file to read from.
var ErrIrregular = errors.New("not a regular file")

// TooLarge is in the error for a file that has more bytes than its kind may.
type TooLarge struct{ Size, Max int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("it has %d bytes, and such a file has at most %d", e.Size, e.Max)
}

// Open opens a regular file of any size. Links are followed; what is at their
// end is asked before it is opened, since opening a named pipe waits for its
// writer. The error is an *fs.PathError.
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

// irregular says what is there in place of a file.
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

// Read reads a whole file of at most so many bytes. The error is an
// *fs.PathError.
func Read(name string, most int64) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file, most)
}

// ReadAll reads the rest of an open file, which may have at most so many bytes.
func ReadAll(file *os.File, most int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: file.Name(), Err: &TooLarge{info.Size(), most}}
	}
	// Some files say that they are empty and are not, such as those of /proc,
	// and a file may grow.
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: file.Name(), Err: &TooLarge{int64(len(data)), most}}
	}
	return data, err
}

// Cause is what is wrong with a file, without its name, for an error that names
// it already.
func Cause(err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}
