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

// Release lets go of the lock; so does closing the file.
func Release(file *os.File) error {
	if err := unlock(file); err != nil {
		return fmt.Errorf("cannot unlock %s: %w", file.Name(), err)
	}
	return nil
}
