package trial

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// Journal takes a run's events: in memory for the checker, as long as there are
// not too many, and line by line in a file, so that a killed run leaves what it
// saw. The file comes into being with its first line, which is the header:
// whenever the harness is killed, there is no file of that name, or one that can
// be judged.
type Journal struct {
	root, path string   // the output folder, and the file below it
	file       *os.File // nil before the first line; the writer's lock guards it
	writer     *history.Writer

	mu          sync.Mutex
	hasHeader   bool // the header has come, and with it whatever came before it
	recorded    []history.Event
	ordered     bool  // seen is in the order of the file's reader, no more in that of arrival
	memoryLimit int   // how many events are kept in memory
	spilled     bool  // there were too many to keep: the file has them
	latest      int64 // time of the latest
	count       int   // events so far
	limit       int   // how many there may be; 0: any number

	progress *Progress
}

// maxEventsInMemory is how many events are kept in memory, where there is a file that has
// them as well: some 20 MB. Short runs, of which there may be thousands, are
// then judged without reading a file.
const maxEventsInMemory = 50_000

// initialEvents is how many events there is room for from the beginning: a short trial has fewer.
const initialEvents = 256

// maxVirtualEvents is how many events a trial in virtual time may make. It does not take
// the time that bounds others, and a history that is longer can hardly be judged.
const maxVirtualEvents = 1_000_000

// checkEventLimit says that there are more events than there may be, nil if not.
func (j *Journal) checkEventLimit() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.limit == 0 || j.count <= j.limit {
		return nil
	}
	return fmt.Errorf("more than %d events in %s of virtual time, the most that a trial may make: fewer clients, "+
		"a shorter workload or TTL, or longer holds make fewer",
		j.limit, time.Duration(j.latest).Round(time.Second))
}

// JournalOptions is where a journal writes, and what it is about.
type JournalOptions struct {
	// Root is the output folder, and Path the file below it; without a root there
	// is no file.
	Root, Path string
	// Virtual: the trial is in virtual time, where events come in order, and too
	// many of them end it.
	Virtual  bool
	Progress *Progress // takes how far the trial has got; nil: nobody looks
}

// NewJournal makes the journal of one attempt at a trial. The file of an earlier
// one goes: it must not stand for this one, however it ends.
func NewJournal(to JournalOptions) (*Journal, error) {
	j := &Journal{root: to.Root, path: to.Path, recorded: make([]history.Event, 0, initialEvents),
		memoryLimit: maxEventsInMemory, progress: to.Progress}
	if to.Virtual {
		j.limit = maxVirtualEvents
	}
	if to.Root == "" {
		return j, nil
	}
	if _, err := os.Lstat(j.name()); err == nil {
		if err := j.checkFolders(); err != nil {
			return nil, err
		}
		if err := os.Remove(j.name()); err != nil {
			return nil, err
		}
	}
	j.writer = history.NewWriter(j, to.Virtual)
	return j, nil
}

// Write takes whole lines from the writer to the file.
func (j *Journal) Write(lines []byte) (int, error) {
	if j.file == nil {
		return j.create(lines)
	}
	return j.file.Write(lines)
}

// foldersMu keeps a trial that removes its folders, now empty, from removing one
// that another trial of this process is about to use. One of another process may
// do that: so a file whose folder has gone is made again, so often at most.
var foldersMu sync.Mutex

const maxCreateTries = 100

// NewSuffix is added to the name of a file whose header is being written.
const NewSuffix = ".new"

// checkFolders requires that the folders on the way to the file are there, and are none
// that links lead to: what is written and removed is in the output folder. It makes
// those that are not there. (os.Root would say the same of any name, by opening
// each folder on the way each time: a third of a short trial.)
func (j *Journal) checkFolders() error {
	folder := j.root
	for part := range strings.SplitSeq(filepath.Dir(j.path), string(filepath.Separator)) {
		folder = filepath.Join(folder, part)
		err := os.Mkdir(folder, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			if err != nil {
				return err
			}
			continue
		}
		if seen, err := os.Lstat(folder); err != nil {
			return err
		} else if !seen.IsDir() {
			return fmt.Errorf("%s is no folder, and histories are written to none that a link leads to: "+
				"remove it, or name another output folder", folder)
		}
	}
	return nil
}

// create makes the file with its first lines, which begin with the header. It
// has its name only when it has them. What is there under its first name, a link
// perhaps, is not written to.
func (j *Journal) create(lines []byte) (n int, err error) {
	foldersMu.Lock()
	defer foldersMu.Unlock()
	for range maxCreateTries {
		if n, err = j.createOnce(lines); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return n, err
}

func (j *Journal) createOnce(lines []byte) (n int, err error) {
	if err := os.MkdirAll(j.root, 0o755); err != nil {
		return 0, err
	}
	if err := j.checkFolders(); err != nil {
		return 0, err
	}
	unnamed := j.name() + NewSuffix
	file, err := os.OpenFile(unnamed, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) { // of a run that was killed, or no file of ours at all
		if err = os.Remove(unnamed); err == nil {
			file, err = os.OpenFile(unnamed, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		}
	}
	if err != nil {
		return 0, err
	}
	if n, err = file.Write(lines); err == nil {
		file, err = rename(file, j.name())
	}
	if err != nil {
		return n, errors.Join(err, file.Close(), os.Remove(unnamed))
	}
	j.file = file
	return n, nil
}

// rename gives a file that is open another name, which Windows does for none.
func rename(file *os.File, name string) (*os.File, error) {
	if runtime.GOOS != "windows" {
		return file, os.Rename(file.Name(), name)
	}
	if err := file.Close(); err != nil {
		return file, err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return file, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
}

func (j *Journal) name() string { return filepath.Join(j.root, j.path) }

// Record adds an event. The header is the first to go to the file; what a
// cluster says while it comes up follows it.
func (j *Journal) Record(e history.Event) {
	e.MakeText()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.count++; j.limit > 0 && j.count > 2*j.limit {
		return // the run has been called off, or does not even notice that
	}
	j.latest = max(j.latest, e.Time)
	j.progress.recordEvent(e.Time)
	if j.spilled {
		j.write(e)
		return
	}
	j.recorded = append(j.recorded, e)
	switch {
	case j.hasHeader:
		j.write(e)
	case e.Type == history.TypeHeader:
		j.hasHeader = true
		j.write(e)
		j.write(j.recorded[:len(j.recorded)-1]...)
	}
	if j.hasHeader && j.writer != nil && len(j.recorded) > j.memoryLimit {
		j.recorded, j.spilled = nil, true
	}
}

// write hands events to the writer, if there is one.
func (j *Journal) write(events ...history.Event) {
	if j.writer == nil {
		return
	}
	for _, e := range events {
		j.writer.Write(e)
	}
}

// HasHeader says whether the header has come.
func (j *Journal) HasHeader() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hasHeader
}

// End writes what is still to be written and closes the file; what is recorded
// from now on is lost.
func (j *Journal) End() error {
	if j.writer == nil {
		return nil
	}
	err := j.writer.Close()
	if j.file == nil {
		return err
	}
	return cmp.Or(err, j.file.Close())
}

// Length is the time of the latest event.
func (j *Journal) Length() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Duration(j.latest)
}

// source gives what was recorded, once the journal has ended.
func (j *Journal) source() (checker.Source, error) {
	j.mu.Lock()
	spilled := j.spilled
	j.mu.Unlock()
	if !spilled {
		return checker.InMemory(j.orderedEvents()), nil
	}
	f, err := history.OpenFile(j.name())
	return f.Each, err
}

// orderedEvents gives what was recorded, in the order in which a reader of the file
// would see it.
func (j *Journal) orderedEvents() []history.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ordered {
		j.recorded, j.ordered = fileOrder(j.recorded), true
	}
	return j.recorded
}

// fileOrder puts events, which are in the order of their arrival, into that of a file's
// reader: by time, and of one instant as the file's writer puts them. What is told later
// than it was, as what a clock was set to is once it has been measured, comes after what
// was told at its instant.
func fileOrder(events []history.Event) []history.Event {
	type place struct{ batch, index int }
	places := make([]place, len(events))
	batch, instant := 0, int64(math.MinInt64)
	for i := range events {
		if events[i].Time > instant {
			batch, instant = batch+1, events[i].Time
		}
		places[i] = place{batch, i}
	}
	slices.SortFunc(places, func(p, q place) int {
		a, b := &events[p.index], &events[q.index]
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(rank(a), rank(b)), cmp.Compare(p.batch, q.batch),
			cmp.Compare(a.Process, b.Process), cmp.Compare(p.index, q.index))
	})
	ordered := make([]history.Event, len(events))
	for i, p := range places {
		ordered[i] = events[p.index]
	}
	return ordered
}

// ShortHistory gives what was recorded, nil if that is more than is kept in memory beside a
// file.
func (j *Journal) ShortHistory() []history.Event {
	events := j.orderedEvents()
	if len(events) > maxEventsInMemory {
		return nil
	}
	return events
}

// rank puts the header before everything at its instant, and the end after it.
func rank(e *history.Event) int {
	switch e.Type {
	case history.TypeHeader:
		return 0
	case history.TypeEnd:
		return 2
	}
	return 1
}

// KeepOrRemove removes the file unless it is to be kept. It returns the file's path
// below the output folder.
func (j *Journal) KeepOrRemove(keep bool) string {
	if j.file == nil {
		return ""
	}
	if keep {
		return filepath.ToSlash(j.path)
	}
	foldersMu.Lock()
	defer foldersMu.Unlock()
	// The folders go with it when they are empty.
	for name := j.path; name != "trials"; name = filepath.Dir(name) {
		if os.Remove(filepath.Join(j.root, name)) != nil {
			break
		}
	}
	return ""
}
