package harness

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lockproof/checker"
	"lockproof/harness/history"
)

// journal takes a run's events: in memory for the checker, as long as there are
// not too many, and line by line in a file, so that a killed run leaves what it
// saw. The file comes into being with its first line, which is the header:
// whenever the harness is killed, there is no file of that name, or one that can
// be judged.
type journal struct {
	root, path string   // the output folder, and the file below it
	file       *os.File // nil before the first line; the writer's lock guards it
	writer     *history.Writer

	mu      sync.Mutex
	headed  bool // the header has come, and with it whatever came before it
	seen    []history.Event
	keeps   int   // how many events are kept in memory
	spilled bool  // there were too many to keep: the file has them
	latest  int64 // time of the latest
}

// kept is how many events are kept in memory, where there is a file that has
// them as well: some 20 MB. Short runs, of which there may be thousands, are
// then judged without reading a file.
const kept = 50_000

// journal makes a trial's journal; without an output folder it has no file.
func (o Options) journal(t *Trial) (*journal, error) {
	j := &journal{root: o.Out, keeps: kept}
	if o.Out == "" {
		return j, nil
	}
	row := t.Scenario
	if t.Variant != "" {
		row += "--" + Slug(t.Variant)
	}
	j.path = filepath.Join("trials", row, fmt.Sprintf("%03d", t.Trial), "history.jsonl")
	// An earlier attempt's file must not stand for this one, however it ends.
	if err := os.Remove(j.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	j.writer = history.NewWriter(j, o.Cluster == Virtual)
	return j, nil
}

// Slug makes of a name what can be a part of a path or of a link: letters and
// digits in lower case, and hyphens.
func Slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name), "-")
}

// Write takes whole lines from the writer to the file.
func (j *journal) Write(lines []byte) (int, error) {
	if j.file == nil {
		return j.create(lines)
	}
	return j.file.Write(lines)
}

// folders keeps a trial that removes its folders, now empty, from removing one
// that another trial is about to use.
var folders sync.Mutex

// unborn is added to the name of a file whose header is being written.
const unborn = ".new"

// create makes the file with its first lines, which begin with the header. It
// has its name only when it has them.
func (j *journal) create(lines []byte) (int, error) {
	folders.Lock()
	defer folders.Unlock()
	if err := os.MkdirAll(filepath.Dir(j.name()), 0o755); err != nil {
		return 0, err
	}
	file, err := os.Create(j.name() + unborn)
	if err != nil {
		return 0, err
	}
	n, err := file.Write(lines)
	if err == nil {
		err = os.Rename(file.Name(), j.name())
	}
	if err != nil {
		return n, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	j.file = file
	return n, nil
}

func (j *journal) name() string { return filepath.Join(j.root, j.path) }

// record adds an event. The header is the first to go to the file; what a
// cluster says while it comes up follows it.
func (j *journal) record(e history.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.latest = max(j.latest, e.Time)
	if j.spilled {
		j.write(e)
		return
	}
	j.seen = append(j.seen, e)
	switch {
	case j.headed:
		j.write(e)
	case e.Type == history.TypeHeader:
		j.headed = true
		j.write(e)
		j.write(j.seen[:len(j.seen)-1]...)
	}
	if j.headed && j.writer != nil && len(j.seen) > j.keeps {
		j.seen, j.spilled = nil, true
	}
}

// write hands events to the writer, if there is one.
func (j *journal) write(events ...history.Event) {
	if j.writer == nil {
		return
	}
	for _, e := range events {
		j.writer.Write(e)
	}
}

// begun says whether the header has come.
func (j *journal) begun() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.headed
}

// end writes what is still to be written and closes the file; what is recorded
// from now on is lost.
func (j *journal) end() error {
	if j.writer == nil {
		return nil
	}
	err := j.writer.Close()
	if j.file == nil {
		return err
	}
	return cmp.Or(err, j.file.Close())
}

// length is the time of the latest event.
func (j *journal) length() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Duration(j.latest)
}

// source gives what was recorded, once the journal has ended.
func (j *journal) source() (checker.Source, error) {
	j.mu.Lock()
	spilled := j.spilled
	j.mu.Unlock()
	if !spilled {
		return checker.InMemory(j.events()), nil
	}
	dropBallast() // the checker will keep much
	f, err := history.OpenFile(j.name())
	return f.Each, err
}

// events gives what was recorded, in the order in which a reader of the file
// would see it.
func (j *journal) events() []history.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.SortStableFunc(j.seen, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Process, b.Process))
	})
	return j.seen
}

// rank puts the header before everything at its instant, and the end after it.
func rank(e history.Event) int {
	switch e.Type {
	case history.TypeHeader:
		return 0
	case history.TypeEnd:
		return 2
	}
	return 1
}

// settle removes the file unless it is to be kept. It returns the file's path
// below the output folder.
func (j *journal) settle(keep bool) string {
	if j.file == nil {
		return ""
	}
	if keep {
		return filepath.ToSlash(j.path)
	}
	folders.Lock()
	defer folders.Unlock()
	// The folders go with it when they are empty.
	for name := j.path; name != "trials"; name = filepath.Dir(name) {
		if os.Remove(filepath.Join(j.root, name)) != nil {
			break
		}
	}
	return ""
}

// worthKeeping: everything but a trial whose properties all hold, as they
// should, and of those the first, to look at.
func worthKeeping(t Trial) bool {
	if standing, _ := t.Standing(); t.Trial == 0 || standing != AsExpected {
		return true
	}
	for property := range t.Expect {
		if t.verdict(property) != history.Holds {
			return true
		}
	}
	return slices.ContainsFunc(history.Properties, func(p string) bool { return t.verdict(p) == history.Violated })
}

// verdict is the trial's verdict on a property, "" if it was not judged.
func (t Trial) verdict(property string) string {
	for _, r := range t.Results {
		if r.Property == property {
			return r.Verdict
		}
	}
	return ""
}
