//go:build !linux

package validate

import "os"

// fdatasync is fsync where there is nothing less.
func fdatasync(f *os.File) error { return f.Sync() }
