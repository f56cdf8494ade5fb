package reports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.org/lockproof/internal/filelock"
)

// MarkFile marks an output folder: the next run may remove this run's files. A process that writes to the folder holds
// the lock on this file (see filelock).
const MarkFile = ".lockproof"

const markText = "Lockproof writes its results into this folder, and begins by removing those of the run before.\n"

// The reasons for refusing a folder.
var (
	ErrBusy    = errors.New("another run is writing to this folder")
	ErrForeign = errors.New("not a folder that Lockproof made")
)

// Folder is an output folder that this process has locked. Writes and removals follow no link out of it.
type Folder struct {
	name string
	root *os.Root
	mark *os.File
}

// readerTimeout bounds the wait for a reader, which holds the lock for a moment.
const readerTimeout = time.Second

// OpenFolder locks a folder for the results of a run; it creates a missing one. It changes nothing in a refused folder:
// the error is then ErrBusy or ErrForeign. Close unlocks the folder.
func OpenFolder(name string) (*Folder, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("cannot use the output folder: %w", err)
	}
	f := &Folder{name: name, root: root}
	if err := f.acquire(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return f, nil
}

// Close unlocks the folder.
func (f *Folder) Close() error {
	var err error
	if f.mark != nil {
		err = f.mark.Close()
	}
	return errors.Join(err, f.root.Close())
}

// IsUnfinished reports whether a folder's run is still running or was killed: it has the mark and no results, or its
// progress, as a CI system may keep no hidden files.
func IsUnfinished(dir string) bool {
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return (there(MarkFile) || there(ProgressFile)) && !there(ResultsFile)
}

// acquire creates a missing mark and locks it.
func (f *Folder) acquire() error {
	if info, err := f.root.Lstat(trialsFolder); err == nil && !info.IsDir() {
		return fmt.Errorf("%w: its %s is a %s", ErrForeign, trialsFolder, kindOf(info))
	}
	info, err := f.root.Lstat(MarkFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.requireEmpty(); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: its %s is a %s", ErrForeign, MarkFile, kindOf(info))
	}
	if f.mark, err = f.root.OpenFile(MarkFile, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return err
	}
	for end := time.Now().Add(readerTimeout); ; time.Sleep(10 * time.Millisecond) {
		locked, err := filelock.Exclusive(f.mark)
		if locked || err != nil {
			return errors.Join(err, f.writeMark())
		}
		if time.Now().After(end) {
			return ErrBusy
		}
	}
}

// writeMark writes the purpose of the file into a new mark.
func (f *Folder) writeMark() error {
	if info, err := f.mark.Stat(); err != nil || info.Size() > 0 {
		return err
	}
	_, err := f.mark.WriteString(markText)
	return err
}

// requireEmpty accepts only an empty folder.
func (f *Folder) requireEmpty() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Readdirnames(1); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("%w: it is not empty, and has no %s: name a new or an empty one", ErrForeign, MarkFile)
}

// kindOf names the type of an unexpected file.
func kindOf(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "link"
	case info.IsDir():
		return "folder"
	case info.Mode().IsRegular():
		return "file"
	}
	return "device or pipe"
}
