package filelock

import (
	"fmt"
	"os"
)

// Exclusive tries to acquire an exclusive lock, and reports whether it succeeded. It does not wait.
func Exclusive(file *os.File) (bool, error) { return try(file, exclusive) }

// Shared tries to acquire a shared lock, which excludes exclusive ones, and reports whether it succeeded. It does not
// wait.
func Shared(file *os.File) (bool, error) { return try(file, shared) }

func try(file *os.File, how int) (bool, error) {
	got, err := lock(file, how)
	if err != nil {
		return false, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	return got, nil
}
