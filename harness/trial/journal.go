package trial

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// Journal records a trial's events for the checker and for the history's file. In real time each event goes to the
// file at once, so that a killed run leaves its history, and the checker reads the file. In virtual time, where a
// trial takes milliseconds, and without an output folder events stay in memory; KeepOrRemove may write them at the
// end. A file gets its name once it has its header: if the harness is killed, a file with that name can be judged.
type Journal struct {
	folder *os.Root // the output folder; nil: there is no file
	path   string   // of the file below it
	live   bool     // each event goes to the file at once

	mu        sync.Mutex
	hasHeader bool
	recorded  []history.Event // in order except the latest instant's; nil once they are in the file
	sorted    int             // the first ones, which are in order
	instant   int64           // the latest
	file      *os.File        // receives events; nil: they stay in memory
	writer    *history.Writer // on file
	err       error           // why there is no file
	at        Position
	limit     int // of events; 0: none
}

// Position is a trial's progress.
type Position struct {
	Events  int   `json:"events"`
	Time    int64 `json:"time"`    // of the latest event, in nanoseconds
	Judging bool  `json:"judging"` // the trial is over, and the checker runs
}

// Position returns the trial's progress. It is safe for concurrent use.
func (j *Journal) Position() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.at
}

// maxShortHistory bounds the events that a Result carries: some 20 MB.
const maxShortHistory = 50_000

// initialEvents is the initial capacity, enough for a short trial.
const initialEvents = 256

// maxVirtualEvents bounds the events of a trial in virtual time, which real time does not bound. The checker would
// take too long for a longer history.
const maxVirtualEvents = 1_000_000

// checkEventLimit returns an error if there are too many events.
func (j *Journal) checkEventLimit() error {
	at := j.Position()
	if j.limit == 0 || at.Events <= j.limit {
		return nil
	}
	return fmt.Errorf("more than %d events in %s of virtual time, the most that a trial may make: fewer clients, "+
		"a shorter workload or TTL, or longer holds make fewer",
		j.limit, time.Duration(at.Time).Round(time.Second))
}

// JournalOptions configure a journal.
type JournalOptions struct {
	// Root is the output folder, and Path the file below it; without a Root there is no file.
	Root, Path string
	// Virtual: the trial runs in virtual time, where events arrive in order, and too many of them end it.
	Virtual bool
}

// NewJournal makes the journal of one attempt at a trial. It removes an earlier attempt's file, which must not be
// taken for this one's.
func NewJournal(to JournalOptions) (*Journal, error) {
	j := &Journal{path: to.Path, live: to.Root != "" && !to.Virtual,
		recorded: make([]history.Event, 0, initialEvents)}
	if to.Virtual {
		j.limit = maxVirtualEvents
	}
	if to.Root == "" {
		return j, nil
	}
	if err := os.MkdirAll(to.Root, 0o755); err != nil {
		return nil, err
	}
	var err error
	if j.folder, err = os.OpenRoot(to.Root); err != nil {
		return nil, err
	}
	if err := j.folder.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, j.folder.Close())
	}
	return j, nil
}

// foldersMu prevents a trial that removes its empty folders from removing one that another trial of this process is
// about to use.
var foldersMu sync.Mutex

// NewSuffix ends a file's name until its header is written.
const NewSuffix = ".new"

// writeFile creates the file with these events, and then calls end. It never writes to an existing file or link.
func (j *Journal) writeFile(events []history.Event, end func(*history.Writer) error) error {
	foldersMu.Lock()
	defer foldersMu.Unlock()
	if err := j.folder.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		return err
	}
	newPath := j.path + NewSuffix
	// A leftover of a killed run, or another program's file.
	if err := j.folder.Remove(newPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := j.folder.OpenFile(newPath, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(file, 1<<16)
	lines := history.NewWriter(buffer)
	for _, e := range events {
		lines.Write(e)
	}
	err = cmp.Or(end(lines), history.Unwritten(buffer.Flush()), file.Close())
	if err == nil {
		err = j.folder.Rename(newPath, j.path)
	}
	if err != nil {
		return errors.Join(err, j.folder.Remove(newPath))
	}
	return nil
}

// goLive writes the events so far to the file, the header first. Later events go there directly.
func (j *Journal) goLive() error {
	last := len(j.recorded) - 1
	events := slices.Concat(j.recorded[last:], j.recorded[:last])
	var lines *history.Writer
	if err := j.writeFile(events, func(w *history.Writer) error { lines = w; return nil }); err != nil {
		return err
	}
	file, err := j.folder.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	lines.Continue(file)
	j.recorded, j.file, j.writer = nil, file, lines
	return nil
}

func (j *Journal) name() string { return filepath.Join(j.folder.Name(), j.path) }

// Record adds an event. A starting cluster's events may precede the header.
func (j *Journal) Record(e history.Event) {
	e.MakeText()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at.Events++; j.limit > 0 && j.at.Events > 2*j.limit {
		return // the run is being cancelled, or is stuck
	}
	j.at.Time = max(j.at.Time, e.Time)
	if j.writer != nil {
		j.writer.Write(e)
		return
	}
	if e.Time > j.instant {
		j.sortInstant()
		j.instant = e.Time
	}
	j.recorded = append(j.recorded, e)
	if e.Type == history.TypeHeader {
		j.hasHeader = true
		if j.live {
			j.err = j.goLive()
		}
	}
}

// HasHeader reports whether the header is recorded.
func (j *Journal) HasHeader() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hasHeader
}

// End closes the file, so later events are lost there.
func (j *Journal) End() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.writer == nil {
		return j.err
	}
	return cmp.Or(j.writer.Close(), j.file.Close())
}

// setJudging records whether the checker runs.
func (j *Journal) setJudging(judging bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at.Judging = judging
}

// source reads the events. Call it after End.
func (j *Journal) source() (checker.Source, error) {
	if j.file == nil {
		return checker.InMemory(j.orderedEvents()), nil
	}
	f, err := history.OpenFile(j.name())
	return f.Each, err
}

// orderedEvents returns the events in the order of a file.
func (j *Journal) orderedEvents() []history.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sortInstant()
	return j.recorded
}

// sortInstant sorts the events of the latest instant: the header first, then by process, and the end last. In a bubble
// the scheduler orders the goroutines of an instant arbitrarily; this makes the same seed give the same bytes. An
// event reported late, such as a clock's measured change, goes behind those of its own instant. j.mu is held.
func (j *Journal) sortInstant() {
	slices.SortStableFunc(j.recorded[j.sorted:], func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(rank(a.Type), rank(b.Type)),
			cmp.Compare(a.Process, b.Process))
	})
	for i := j.sorted; i < len(j.recorded) && j.recorded[i].Time < j.instant; i++ {
		late := j.recorded[i]
		at := sort.Search(i, func(k int) bool { return j.recorded[k].Time > late.Time })
		copy(j.recorded[at+1:i+1], j.recorded[at:i])
		j.recorded[at] = late
	}
	j.sorted = len(j.recorded)
}

// ShortHistory returns all events, nil if there are too many.
func (j *Journal) ShortHistory() ([]history.Event, error) {
	if j.Position().Events > maxShortHistory {
		return nil, nil
	}
	if j.file == nil {
		return j.orderedEvents(), nil
	}
	source, err := j.source()
	if err != nil {
		return nil, err
	}
	var events []history.Event
	err = source(func(e *history.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, err
}

// rank puts the header before all other events of its instant, and the end after them.
func rank(t history.Type) int {
	switch t {
	case history.TypeHeader:
		return 0
	case history.TypeEnd:
		return 2
	}
	return 1
}

// KeepOrRemove writes the file or removes it. It returns the file's path below the output folder, "" if there is none.
func (j *Journal) KeepOrRemove(keep bool) (string, error) {
	if j.folder == nil {
		return "", nil
	}
	defer j.folder.Close()
	if !j.hasHeader {
		return "", nil
	}
	if keep && j.file == nil {
		if err := cmp.Or(j.err, j.writeFile(j.orderedEvents(), (*history.Writer).Close)); err != nil {
			return "", err
		}
	}
	if keep {
		return filepath.ToSlash(j.path), nil
	}
	if j.file == nil {
		return "", nil
	}
	foldersMu.Lock()
	defer foldersMu.Unlock()
	// Empty folders are removed, too.
	for name := j.path; name != "trials"; name = filepath.Dir(name) {
		if j.folder.Remove(name) != nil {
			break
		}
	}
	return "", nil
}
