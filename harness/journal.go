package harness

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lockproof/harness/history"
)

// journal takes a run's events: in memory for the checker, and line by line in
// a file, so that a killed run leaves what it saw.
type journal struct {
	root, path string // the output folder, and the file below it
	file       *os.File
	writer     *history.Writer

	mu   sync.Mutex
	seen []history.Event
}

// journal opens the file of a trial; without an output folder there is none.
func (o Options) journal(t *Trial) (*journal, error) {
	j := &journal{root: o.Out}
	if o.Out == "" {
		return j, nil
	}
	row := t.Scenario
	if t.Variant != "" {
		row += "--" + slug(t.Variant)
	}
	j.path = filepath.Join("trials", row, fmt.Sprintf("%03d", t.Trial), "history.jsonl")
	name := filepath.Join(o.Out, j.path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	j.file, j.writer = file, history.NewWriter(file, o.Cluster == Virtual)
	return j, nil
}

// slug makes a file name of a variant's name.
func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s), "-")
}

// record adds an event.
func (j *journal) record(e history.Event) {
	if j.writer != nil {
		j.writer.Write(e)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, e)
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

// close ends the file, and removes it unless it is to be kept. It returns the
// file's path below the output folder.
func (j *journal) close(keep bool) (string, error) {
	if j.file == nil {
		return "", nil
	}
	err := cmp.Or(j.writer.Close(), j.file.Close())
	if keep {
		return filepath.ToSlash(j.path), err
	}
	// The folders go with it when they are empty.
	for name := j.path; name != "trials" && err == nil; name = filepath.Dir(name) {
		if os.Remove(filepath.Join(j.root, name)) != nil {
			break
		}
	}
	return "", err
}

// worthKeeping: everything but a trial whose properties all hold, and of those
// the first, to look at.
func worthKeeping(t Trial) bool {
	if t.Trial == 0 || t.Failure != "" {
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
