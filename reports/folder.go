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

// MarkFile is in every output folder: it says that what has the names of a run's
// files there is a run's, and the next one's to remove. Whoever writes to the
// folder holds the lock on it (see filelock).
const MarkFile = ".lockproof"

const markText = "Lockproof writes its results into this folder, and begins by removing those of the run before.\n"

// Why a folder is refused.
var (
	ErrBusy    = errors.New("another run is writing to this folder")
	ErrForeign = errors.New("this is not an output folder of Lockproof's, whose files it may replace")
)

// Folder is an output folder that this process has to itself. What it writes and
// removes there is reached through no link that leads elsewhere.
type Folder struct {
	name string
	root *os.Root
	mark *os.File
}

// readerTimeout is how long to wait for a reader, who holds the lock for a moment.
const readerTimeout = time.Second

// OpenFolder takes a folder for the results of a run, and makes it if need be.
// It touches nothing in one that is refused: the error is then ErrBusy or
// ErrForeign. Close gives it back.
func OpenFolder(name string) (*Folder, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("cannot use the output folder: %w", err)
	}
	f := &Folder{name: name, root: root}
	if err := f.take(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return f, nil
}

// Close lets others have the folder.
func (f *Folder) Close() error {
	var err error
	if f.mark != nil {
		err = f.mark.Close()
	}
	return errors.Join(err, f.root.Close())
}

// IsUnfinished says whether a folder is a run's that has not ended: it goes on, or was
// killed. It has the mark and no results.
func IsUnfinished(dir string) bool {
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return there(MarkFile) && !there(ResultsFile)
}

// take finds or makes the mark, and locks it.
func (f *Folder) take() error {
	if info, err := f.root.Lstat(trialsFolder); err == nil && !info.IsDir() {
		return fmt.Errorf("%w: its %s is a %s", ErrForeign, trialsFolder, kindOf(info))
	}
	info, err := f.root.Lstat(MarkFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.ours(); err != nil {
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
			return errors.Join(err, f.explain())
		}
		if time.Now().After(end) {
			return ErrBusy
		}
	}
}

// explain writes into a new mark what it is for.
func (f *Folder) explain() error {
	if info, err := f.mark.Stat(); err != nil || info.Size() > 0 {
		return err
	}
	_, err := f.mark.WriteString(markText)
	return err
}

// ours is nil for a folder without a mark that is empty.
func (f *Folder) ours() error {
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
	return fmt.Errorf("%w: it is not empty, and there is no %s in it: give a new folder or an empty one", ErrForeign,
		MarkFile)
}

// kindOf says what stands where a file or folder should.
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
