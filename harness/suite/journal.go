package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockproof/checker"
	"lockproof/harness/cluster/kinds"
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
	pulse   *pulse
	count   int // events so far
	limit   int // how many there may be; 0: any number
}

// kept is how many events are kept in memory, where there is a file that has
// them as well: some 20 MB. Short runs, of which there may be thousands, are
// then judged without reading a file.
const kept = 50_000

// manyEvents is how many events a trial in virtual time may make. It does not take
// the time that bounds others, and a history that is longer can hardly be judged.
const manyEvents = 1_000_000

// tooMany says that there are more events than there may be, nil if not.
func (j *journal) tooMany() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.limit == 0 || j.count <= j.limit {
		return nil
	}
	return fmt.Errorf("more than %d events in %s of virtual time, the most that a trial may make: fewer clients, a shorter workload or TTL, or longer holds make fewer",
		j.limit, time.Duration(j.latest).Round(time.Second))
}

// journal makes the journal of one trial of a job; without an output folder it
// has no file.
func (o Options) journal(job Job, trial int) (*journal, error) {
	j := &journal{root: o.Out, keeps: kept, pulse: o.pulse}
	if !kinds.RealTime(o.Cluster) {
		j.limit = manyEvents
	}
	if o.Out == "" {
		return j, nil
	}
	j.path = filepath.Join("trials", job.folder(), fmt.Sprintf("%03d", trial), "history.jsonl")
	// An earlier attempt's file must not stand for this one, however it ends.
	if _, err := os.Lstat(j.name()); err == nil {
		if err := j.inside(); err != nil {
			return nil, err
		}
		if err := os.Remove(j.name()); err != nil {
			return nil, err
		}
	}
	j.writer = history.NewWriter(j, !kinds.RealTime(o.Cluster))
	return j, nil
}

// folder is the name of the folder that has the row's trials, which no other row
// of a suite has. It follows from the scenario alone, so that it is the same in
// every run and shard: of variants whose slugs are alike, the second in the file
// ends in ~2, which no slug does.
func (j Job) folder() string {
	if j.Variant == "" {
		return j.Scenario.Name
	}
	slug, alike := Slug(j.Variant), 0
	for _, v := range j.Scenario.Variants {
		if Slug(v.Name) == slug {
			alike++
		}
		if v.Name == j.Variant {
			break
		}
	}
	if alike > 1 {
		slug = fmt.Sprintf("%s~%d", slug, alike)
	}
	return j.Scenario.Name + "--" + slug
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
// that another trial of this process is about to use. One of another process may
// do that: so a file whose folder has gone is made again, so often at most.
var folders sync.Mutex

const creations = 100

// Unborn is added to the name of a file whose header is being written.
const Unborn = ".new"

// inside requires that the folders on the way to the file are there, and are none
// that links lead to: what is written and removed is in the output folder. It makes
// those that are not there. (os.Root would say the same of any name, by opening
// each folder on the way each time: a third of a short trial.)
func (j *journal) inside() error {
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
			return fmt.Errorf("%s is no folder, and histories are written to none that a link leads to: remove it, or name another output folder", folder)
		}
	}
	return nil
}

// create makes the file with its first lines, which begin with the header. It
// has its name only when it has them. What is there under its first name, a link
// perhaps, is not written to.
func (j *journal) create(lines []byte) (n int, err error) {
	folders.Lock()
	defer folders.Unlock()
	for range creations {
		if n, err = j.createOnce(lines); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return n, err
}

func (j *journal) createOnce(lines []byte) (n int, err error) {
	if err := os.MkdirAll(j.root, 0o755); err != nil {
		return 0, err
	}
	if err := j.inside(); err != nil {
		return 0, err
	}
	unborn := j.name() + Unborn
	file, err := os.OpenFile(unborn, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) { // of a run that was killed, or no file of ours at all
		if err = os.Remove(unborn); err == nil {
			file, err = os.OpenFile(unborn, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		}
	}
	if err != nil {
		return 0, err
	}
	if n, err = file.Write(lines); err == nil {
		file, err = rename(file, j.name())
	}
	if err != nil {
		return n, errors.Join(err, file.Close(), os.Remove(unborn))
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

func (j *journal) name() string { return filepath.Join(j.root, j.path) }

// record adds an event. The header is the first to go to the file; what a
// cluster says while it comes up follows it.
func (j *journal) record(e history.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.count++; j.limit > 0 && j.count > 2*j.limit {
		return // the run has been called off, or does not even notice that
	}
	j.latest = max(j.latest, e.Time)
	j.pulse.beat(e.Time)
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

// few gives what was recorded, nil if that is more than is kept in memory beside a
// file.
func (j *journal) few() []history.Event {
	events := j.events()
	if len(events) > kept {
		return nil
	}
	return events
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
