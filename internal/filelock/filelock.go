package filelock

import (
	"fmt"
	"os"
)

// Exclusive takes the lock that nobody shares, and says whether it got it: it
// does not wait.
func Exclusive(file *os.File) (bool, error) { return try(file, exclusive) }

// Shared takes the lock that others may have as well, but none exclusively, and
// says whether it got it: it does not wait.
func Shared(file *os.File) (bool, error) { return try(file, shared) }

func try(file *os.File, how int) (bool, error) {
	got, err := lock(file, how)
	if err != nil {
		return false, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	return got, nil
}
