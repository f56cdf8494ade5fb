package settings

import (
	"maps"
	"path/filepath"

	"lockproof/internal/input"
)

// Files are texts that stand in place of files, by their names: what becomes of an
// operator's own when they are changed. What is not among them is read from the disk.
type Files map[string]string

// Disk is the disk as it is.
var Disk Files

// read reads a file of at most so many bytes, as input.Read does.
func (f Files) read(name string, most int64) ([]byte, error) {
	if text, changed := f[filepath.Clean(name)]; changed {
		return []byte(text), nil
	}
	return input.Read(name, most)
}

// with is the files with one more text.
func (f Files) with(name, text string) Files {
	more := maps.Clone(f)
	if more == nil {
		more = Files{}
	}
	more[filepath.Clean(name)] = text
	return more
}
