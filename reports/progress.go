package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"lockproof/harness"
)

// ProgressFile is in the output folder of a run that has not ended: a line for
// the run and one for each trial that has finished. The harness holds a lock
// (flock) on it, which the kernel takes away when the harness dies.
const ProgressFile = "progress.jsonl"

// ErrBusy says that another run is writing to the output folder.
var ErrBusy = errors.New("another run is writing to this folder")

// progressLine is one line: the first has Begun, each other Trial.
type progressLine struct {
	Begun *Begun         `json:"begun,omitempty"`
	Trial *FinishedTrial `json:"trial,omitempty"`
}

// Begun is what is known of a run at its start.
type Begun struct {
	Started time.Time      `json:"started"`
	Planned int            `json:"planned"` // trials
	Options ResultsOptions `json:"options"`
}

// FinishedTrial is what came of one trial, in brief.
type FinishedTrial struct {
	Scenario string            `json:"scenario"`
	Variant  string            `json:"variant,omitempty"`
	Trial    int               `json:"trial"`
	Standing harness.Standing  `json:"standing"`
	Why      string            `json:"why,omitempty"` // unless it is as expected
	Verdicts map[string]string `json:"verdicts,omitempty"`
}

// Progress writes a run's progress as it goes.
type Progress struct {
	mu   sync.Mutex
	file *os.File
}

// patience is how long to wait for a reader, who holds the lock for a moment.
const patience = time.Second

// NewProgress makes the output folder, and the progress file in it. The error
// is ErrBusy if a run that lives is writing there.
func NewProgress(run Run) (*Progress, error) {
	out := run.Options.Out
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(out, ProgressFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot write to the output folder: %w", err)
	}
	for end := time.Now().Add(patience); !locked(file, syscall.LOCK_EX); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			file.Close()
			return nil, fmt.Errorf("%s: %w", out, ErrBusy)
		}
	}
	p := &Progress{file: file}
	begun := Begun{run.Started.UTC(), run.Planned, resultsOptions(run.Options)}
	if err := errors.Join(file.Truncate(0), p.write(progressLine{Begun: &begun})); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot write to the output folder: %w", err)
	}
	return p, nil
}

// Observe writes down a trial that has finished. What cannot be written is not
// missed: the report will have it.
func (p *Progress) Observe(t harness.Trial) {
	standing, why := t.Standing()
	done := FinishedTrial{Scenario: t.Scenario, Variant: t.Variant, Trial: t.Trial, Standing: standing, Verdicts: map[string]string{}}
	if standing != harness.AsExpected {
		done.Why = why
	}
	for _, j := range t.Judgements() {
		if j.Expected != "" || j.Standing != harness.AsExpected {
			done.Verdicts[j.Property] = j.Got
		}
	}
	p.write(progressLine{Trial: &done})
}

func (p *Progress) write(line progressLine) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.file.Write(append(data, '\n'))
	return err
}

// End removes the file: the report has been written.
func (p *Progress) End() error {
	return errors.Join(os.Remove(p.file.Name()), p.file.Close())
}

// locked tries to get a lock on a file.
func locked(file *os.File, how int) bool {
	return syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB) == nil
}

// Underway is a run that has not ended, or was killed.
type Underway struct {
	Begun
	Done []FinishedTrial
	// Alive is whether its harness still runs.
	Alive bool
}

// longestLine bounds a line of a progress file, which says why in a sentence.
const longestLine = 64 << 10

// ReadProgress reads a progress file. A line that is cut off at the end is one
// that is being written.
func ReadProgress(file *os.File) (*Underway, error) {
	u := &Underway{}
	if locked(file, syscall.LOCK_SH) {
		syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	} else {
		u.Alive = true
	}
	lines := bufio.NewReaderSize(file, longestLine)
	for n := 1; ; n++ {
		data, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && n > 1 {
			return u, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", ProgressFile, n, err)
		}
		var line progressLine
		switch err := json.Unmarshal(data, &line); {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", ProgressFile, n, err)
		case n == 1 && line.Begun != nil:
			u.Begun = *line.Begun
		case n > 1 && line.Trial != nil:
			u.Done = append(u.Done, *line.Trial)
		default:
			return nil, fmt.Errorf("%s:%d: this is not a line of a run's progress", ProgressFile, n)
		}
	}
}
