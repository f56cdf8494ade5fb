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
	"time"

	"example.org/lockproof/internal/filelock"
)

// FolderPrefix begins the name of every run's folder. Clean removes no other.
const FolderPrefix = "lockproof-"

// Record is a run's file in the state folder. It names the harness and the folder, so that Clean finds the remains of a
// killed harness. The harness locks it (flock) during the run; the kernel releases the lock when the
// harness dies.
type Record struct {
	file   *os.File
	folder string // of the run
}

// Harness is a program that runs trials.
type Harness struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// Entry is one line of a record. The first has the harness and the folder, each other an engine or a use.
type Entry struct {
	Harness *Harness `json:"harness,omitempty"`
	Folder  string   `json:"folder,omitempty"`
	// Engine names the Docker engine of the run's projects. The record stays until they are gone: see Stranded.
	Engine string `json:"engine,omitempty"`
	// Uses is the tag of an image, which must exist until the run ends.
	Uses string `json:"uses,omitempty"`
}

// NewRecord creates a run's folder for temporary files, after it has recorded it.
func NewRecord() (*Record, error) {
	if !diesWithHarness {
		return nil, errors.New("the processes of a run need Linux: elsewhere they outlive a killed harness")
	}
	self := Harness{PID: os.Getpid(), Command: filepath.Base(os.Args[0])}
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

// add appends a line in one write, so that a killed harness leaves whole lines.
func (r *Record) add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// File is the path of the record.
func (r *Record) File() string { return r.file.Name() }

// Folder is the run's folder.
func (r *Record) Folder() string { return r.folder }

// Remove removes the run's folder and then the record. If the folder cannot be removed, the record stays. Removal is
// retried because a killed server's snapshot process still writes.
func (r *Record) Remove() error {
	for late := time.Now().Add(Timeout); ; time.Sleep(10 * time.Millisecond) {
		if err := os.RemoveAll(r.folder); err == nil {
			break
		} else if time.Now().After(late) {
			return err
		}
	}
	return errors.Join(os.Remove(r.file.Name()), r.file.Close())
}

// stateFolders are the possible folders of records, by preference. A user without a home has only the temporary one.
func stateFolders() []string {
	var dirs []string
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "lockproof", "runs"))
	}
	return append(dirs, filepath.Join(os.TempDir(), "lockproof-"+strconv.Itoa(os.Getuid())))
}

// checkOwner refuses a folder to which other users can write: Clean obeys its records.
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

func createLocked(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	const tries = 10 // a Clean may remove a new record before it is locked
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

// openRecord opens and locks a record; dead is false if its living harness holds the lock. file is nil if the record
// is gone. os.Root opens files so that Windows allows their removal.
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

// lock locks a record, unless another process holds the lock or has removed the file.
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

// eachRecord reads the records of this user's runs. It holds the lock of a dead harness's record during do.
func eachRecord(do func(name string, dead bool, entries []Entry) error) error {
	var errs []error
	for _, dir := range stateFolders() {
		if err := checkOwner(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		found, _ := fs.Glob(os.DirFS(dir), "run-*.jsonl") // it fails only for a bad pattern
		for _, name := range found {
			errs = append(errs, withRecord(filepath.Join(dir, name), do))
		}
	}
	return errors.Join(errs...)
}

// withRecord reads a record, if it still exists.
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

// Use records that the run needs an image, which outlives it.
func (r *Record) Use(name string) error { return r.add(Entry{Uses: name}) }

// UseEngine records that the run will have projects on a Docker engine.
func (r *Record) UseEngine(name string) error { return r.add(Entry{Engine: name}) }

// InUse lists the images that this user's living runs need.
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

// Owner is the folder of the user's records. It identifies the user.
func (r *Record) Owner() string { return filepath.Dir(r.File()) }

// Ours reports whether this user's runs may have records in a folder.
func Ours(folder string) bool { return slices.Contains(stateFolders(), folder) }

// Dead reports whether a record's harness has ended: the record is unlocked or removed. A record outside this user's
// state folders may belong to another user, and counts as alive.
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

// readRecord reads a record's lines, without a last line that a killed harness left incomplete.
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

// RandomName is a unique name.
func RandomName() string { return strings.ToLower(rand.Text()) }

// RecordVariable has the path of a run's record, for indirect children of the harness, such as tests run by go test.
const RecordVariable = "LOCKPROOF_RECORD"

// EndWith exits this process soon after the run of a record ends. The parent-death signal does so only for direct
// children of the harness.
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
