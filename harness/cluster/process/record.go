package process

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/internal/filelock"
)

// FolderPrefix begins the name of every run's folder. Clean removes no other.
const FolderPrefix = "lockproof-"

// Record is a run's file in the state folder: whose run it is, its folder and
// its children, so that Clean finds what a killed harness left. The harness
// holds a lock (flock) on it as long as the run lasts; the kernel lets go of it
// when the harness dies, however that happens.
type Record struct {
	mu     sync.Mutex
	file   *os.File
	folder string // of the run
}

// Entry is one line of a record. The first names the harness and the folder,
// each other one child, or one thing that is shared with other runs.
type Entry struct {
	Harness *Identity `json:"harness,omitempty"`
	Folder  string    `json:"folder,omitempty"`
	Child   *Identity `json:"child,omitempty"`
	// Engine names the Docker engine on which the run has projects. The record then
	// stays until they are gone: see Stranded.
	Engine string `json:"engine,omitempty"`
	// Uses names something that outlives the run and is not to be removed
	// while it lasts: the tag of an image.
	Uses string `json:"uses,omitempty"`
}

// NewRecord makes the folder of a run, for temporary files, and puts it on record first.
func NewRecord() (*Record, error) {
	self, err := identify(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("cannot tell who this process is: %w", err)
	}
	var errs []error
	for _, dir := range stateFolders() {
		file, err := createLocked(dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := &Record{file: file, folder: filepath.Join(os.TempDir(), FolderPrefix+RandomName())}
		if err := r.add(Entry{Harness: &self, Folder: r.folder}); err != nil {
			return nil, err
		}
		return r, os.Mkdir(r.folder, 0o700)
	}
	return nil, fmt.Errorf("no folder to keep records of processes in: %w", errors.Join(errs...))
}

// add appends a line. It is handed to the system in one write, so a harness
// that is killed leaves whole lines.
func (r *Record) add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// File is the record's file.
func (r *Record) File() string { return r.file.Name() }

// Folder is the run's.
func (r *Record) Folder() string { return r.folder }

// Remove removes the run's folder, and ends the record: nothing is left to clean. A folder that cannot be removed
// stays on record. A server's fork may still write into it: a snapshot goes on after its parent was killed.
func (r *Record) Remove() error {
	for late := time.Now().Add(Timeout); ; time.Sleep(10 * time.Millisecond) {
		if err := os.RemoveAll(r.folder); err == nil {
			break
		} else if time.Now().After(late) {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(os.Remove(r.file.Name()), r.file.Close())
}

// stateFolders are the folders in which records may be, the preferred first:
// the user's cache, or where there is no home, the folder for temporary files.
func stateFolders() []string {
	var dirs []string
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "lockproof", "runs"))
	}
	return append(dirs, filepath.Join(os.TempDir(), "lockproof-"+strconv.Itoa(os.Getuid())))
}

// checkOwner makes sure that nobody else could have written records into dir:
// Clean does what they say.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !own(info) {
		return fmt.Errorf("%s must be a folder of this user that no one else can write to: remove it", dir)
	}
	return nil
}

// createLocked makes a new record and locks it.
func createLocked(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	const tries = 10 // a Clean may come in between the making and the locking
	for range tries {
		name := filepath.Join(dir, "run-"+RandomName()+".jsonl")
		file, ours, err := openRecord(name, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND)
		switch {
		case ours && file != nil:
			return file, nil
		case err != nil:
			return nil, err
		case file != nil:
			file.Close()
		}
	}
	return nil, fmt.Errorf("%s: new records are taken away as soon as they are made", dir)
}

// openRecord opens a record and takes the lock on it, unless its harness lives and has that: dead says which. No file:
// there is no such record any more. Windows lets nobody remove a file that is open, unless whoever opened it shares
// that right, as os.Root does.
func openRecord(name string, flag int) (file *os.File, dead bool, err error) {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err == nil {
		defer dir.Close()
		file, err = dir.OpenFile(filepath.Base(name), flag, 0o600)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	} else if err != nil {
		return nil, false, err
	}
	if dead, err = lock(file); err != nil {
		file.Close()
		return nil, false, err
	}
	return file, dead, nil
}

// lock takes the lock on a record, unless another has it or the file has been
// removed in the meantime.
func lock(file *os.File) (ours bool, err error) {
	if held, err := filelock.Exclusive(file); !held {
		return false, err
	}
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(file.Name())
	return err == nil && os.SameFile(opened, named), nil
}

// eachRecord reads the records of this user's runs. While do looks at that of a dead harness, nobody else does.
func eachRecord(do func(name string, dead bool, entries []Entry) error) error {
	var errs []error
	for _, dir := range stateFolders() {
		if err := checkOwner(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		found, _ := fs.Glob(os.DirFS(dir), "run-*.jsonl") // its only error is that of a bad pattern
		for _, name := range found {
			errs = append(errs, withRecord(filepath.Join(dir, name), do))
		}
	}
	return errors.Join(errs...)
}

// withRecord reads a record, if it is there still.
func withRecord(name string, do func(name string, dead bool, entries []Entry) error) error {
	file, dead, err := openRecord(name, os.O_RDWR)
	if file == nil {
		return err
	}
	defer file.Close()
	entries, err := readRecord(file)
	if err != nil {
		return fmt.Errorf("%s: %w; end what it names by hand and remove it", name, err)
	}
	return do(name, dead, entries)
}

// Use notes that the run needs something that outlives it.
func (r *Record) Use(name string) error { return r.add(Entry{Uses: name}) }

// UseEngine notes that the run is going to have projects on a Docker engine.
func (r *Record) UseEngine(name string) error { return r.add(Entry{Engine: name}) }

// InUse lists what the runs of this user need that are alive.
func InUse() (names []string, err error) {
	err = eachRecord(func(_ string, dead bool, entries []Entry) error {
		for _, e := range entries {
			if e.Uses != "" && !dead {
				names = append(names, e.Uses)
			}
		}
		return nil
	})
	return names, err
}

// Owner is where the user's runs keep their records. It stands for the user.
func (r *Record) Owner() string { return filepath.Dir(r.File()) }

// Ours says whether a folder is one in which runs of this user keep records.
func Ours(folder string) bool { return slices.Contains(stateFolders(), folder) }

// Dead says whether the harness of a record has ended: nobody holds the lock on
// it, or it has been cleaned up after already. Only a file in a state folder of
// this user is judged; any other may be somebody else's and counts as alive.
func Dead(name string) (bool, error) {
	if !Ours(filepath.Dir(name)) {
		return false, nil
	}
	file, dead, err := openRecord(name, os.O_RDWR)
	if file != nil {
		file.Close()
	}
	return dead, err
}

// readRecord reads a record's lines. One that the harness was killed in the
// middle of is left out.
func readRecord(from io.Reader) ([]Entry, error) {
	var entries []Entry
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return entries, fmt.Errorf("line %d is not a record's: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
}

// RandomName is a name that no other run draws.
func RandomName() string { return strings.ToLower(rand.Text()) }

// RecordVariable names to a program that other programs started for a run (go test starts
// the tests) the record of that run.
const RecordVariable = "LOCKPROOF_RECORD"

// EndWith ends this process soon after the run of a record has ended. The kernel does so for
// a child of the harness, and not for a child's child.
func EndWith(record string) {
	if record == "" {
		return
	}
	go func() {
		for range time.Tick(time.Second) {
			if dead, err := Dead(record); dead && err == nil {
				os.Exit(1)
			}
		}
	}()
}
