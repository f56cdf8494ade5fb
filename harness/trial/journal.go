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

// Journal takes a run's events, for the checker and for the file that others read. In real time they go to the file
// line by line, so that a killed run leaves what it saw, and are judged from there. In virtual time, where a trial
// takes milliseconds, and without an output folder they are kept in memory; those that are worth it are written in
// the end. A file has its name once it has its first line, which is the header: whenever the harness is killed,
// there is no file of that name, or one that can be judged.
type Journal struct {
	folder *os.Root // the output folder; nil: there is no file
	path   string   // of the file below it
	live   bool     // events go to the file as they come

	mu        sync.Mutex
	hasHeader bool
	recorded  []history.Event // in order but for those of the latest instant; until the file takes them
	settled   int             // how many of them are in order
	instant   int64           // the latest
	file      *os.File        // takes the events that come; nil: memory does
	writer    *history.Writer // on file
	err       error           // why there is no file
	at        Position
	limit     int // how many events there may be; 0: any number
}

// Position is how far a trial has got.
type Position struct {
	Events  int   `json:"events"`
	Time    int64 `json:"time"`    // of the latest event, in nanoseconds
	Judging bool  `json:"judging"` // the trial is over, and the checker at work
}

// Position says how far the trial has got. It may be asked from any goroutine.
func (j *Journal) Position() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.at
}

// maxShortHistory is how many events are handed on with a trial: some 20 MB.
const maxShortHistory = 50_000

// initialEvents is how many events there is room for from the beginning: a short trial has fewer.
const initialEvents = 256

// maxVirtualEvents is how many events a trial in virtual time may make. It does not take
// the time that bounds others, and a history that is longer can hardly be judged.
const maxVirtualEvents = 1_000_000

// checkEventLimit says that there are more events than there may be, nil if not.
func (j *Journal) checkEventLimit() error {
	at := j.Position()
	if j.limit == 0 || at.Events <= j.limit {
		return nil
	}
	return fmt.Errorf("more than %d events in %s of virtual time, the most that a trial may make: fewer clients, "+
		"a shorter workload or TTL, or longer holds make fewer",
		j.limit, time.Duration(at.Time).Round(time.Second))
}

// JournalOptions is where a journal writes, and what it is about.
type JournalOptions struct {
	// Root is the output folder, and Path the file below it; without a root there
	// is no file.
	Root, Path string
	// Virtual: the trial is in virtual time, where events come in order, and too
	// many of them end it.
	Virtual bool
}

// NewJournal makes the journal of one attempt at a trial. The file of an earlier
// one goes: it must not stand for this one, however it ends.
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

// foldersMu keeps a trial that removes its folders, now empty, from removing one
// that another trial of this process is about to use.
var foldersMu sync.Mutex

// NewSuffix is added to the name of a file whose header is being written.
const NewSuffix = ".new"

// writeFile makes the file with these events. What is there under its first name, a link
// perhaps, is not written to.
func (j *Journal) writeFile(events []history.Event) error {
	foldersMu.Lock()
	defer foldersMu.Unlock()
	if err := j.folder.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		return err
	}
	unnamed := j.path + NewSuffix
	// It may be there of a run that was killed, or be no file of ours at all.
	if err := j.folder.Remove(unnamed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := j.folder.OpenFile(unnamed, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(file, 1<<16)
	lines := history.NewWriter(buffer)
	for _, e := range events {
		lines.Write(e)
	}
	err = cmp.Or(lines.Close(), buffer.Flush(), file.Close())
	if err == nil {
		err = j.folder.Rename(unnamed, j.path)
	}
	if err != nil {
		return errors.Join(err, j.folder.Remove(unnamed))
	}
	return nil
}

// goLive lets the file take what has come so far, the header first, and all that is still to come.
func (j *Journal) goLive() error {
	last := len(j.recorded) - 1
	if err := j.writeFile(slices.Concat(j.recorded[last:], j.recorded[:last])); err != nil {
		return err
	}
	file, err := j.folder.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	j.recorded, j.file, j.writer = nil, file, history.NewWriter(file)
	return nil
}

func (j *Journal) name() string { return filepath.Join(j.folder.Name(), j.path) }

// Record adds an event. What a cluster says while it comes up may come before the header.
func (j *Journal) Record(e history.Event) {
	e.MakeText()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at.Events++; j.limit > 0 && j.at.Events > 2*j.limit {
		return // the run has been called off, or does not even notice that
	}
	j.at.Time = max(j.at.Time, e.Time)
	if j.writer != nil {
		j.writer.Write(e)
		return
	}
	if e.Time > j.instant {
		j.settle()
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

// HasHeader says whether the header has come.
func (j *Journal) HasHeader() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hasHeader
}

// End closes a file that has taken the events; what is recorded from now on is lost there.
func (j *Journal) End() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.writer == nil {
		return j.err
	}
	return cmp.Or(j.writer.Close(), j.file.Close())
}

// setJudging says that the trial is over, and whether it is being judged.
func (j *Journal) setJudging(judging bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at.Judging = judging
}

// source gives what was recorded, once the journal has ended.
func (j *Journal) source() (checker.Source, error) {
	if j.file == nil {
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
	j.settle()
	return j.recorded
}

// settle puts the events of the latest instant in order: the header first, then by process, and the end last. In a
// bubble many goroutines run at one instant in an order of the scheduler's choosing, and this takes its choice out: one
// seed gives one history, byte for byte. What is told later than it was, as what a clock was set to is once it has been
// measured, goes behind what was told at its instant. j.mu is held.
func (j *Journal) settle() {
	slices.SortStableFunc(j.recorded[j.settled:], func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(rank(a.Type), rank(b.Type)),
			cmp.Compare(a.Process, b.Process))
	})
	for i := j.settled; i < len(j.recorded) && j.recorded[i].Time < j.instant; i++ {
		late := j.recorded[i]
		at := sort.Search(i, func(k int) bool { return j.recorded[k].Time > late.Time })
		copy(j.recorded[at+1:i+1], j.recorded[at:i])
		j.recorded[at] = late
	}
	j.settled = len(j.recorded)
}

// ShortHistory gives all events, nil if they are more than are handed on.
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

// rank puts the header before everything at its instant, and the end after it.
func rank(t history.Type) int {
	switch t {
	case history.TypeHeader:
		return 0
	case history.TypeEnd:
		return 2
	}
	return 1
}

// KeepOrRemove sees to it that there is a file if the history is to be kept, and none otherwise. It returns the file's
// path below the output folder, "" if there is none.
func (j *Journal) KeepOrRemove(keep bool) (string, error) {
	if j.folder == nil {
		return "", nil
	}
	defer j.folder.Close()
	if !j.hasHeader {
		return "", nil
	}
	if keep && j.file == nil {
		if err := cmp.Or(j.err, j.writeFile(j.orderedEvents())); err != nil {
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
	// The folders go with it when they are empty.
	for name := j.path; name != "trials"; name = filepath.Dir(name) {
		if j.folder.Remove(name) != nil {
			break
		}
	}
	return "", nil
}
