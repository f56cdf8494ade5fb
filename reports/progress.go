package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/filelock"
	"example.org/lockproof/internal/input"
)

// ProgressFile is in the output folder of a run that has not ended: a line for
// the run and one for each trial that has finished.
const ProgressFile = "progress.jsonl"

// progressLine is one line: the first has Begun, each other Trial.
type progressLine struct {
	Begun *RunStart      `json:"begun,omitempty"`
	Trial *FinishedTrial `json:"trial,omitempty"`
}

// RunStart is what is known of a run at its start.
type RunStart struct {
	Started time.Time     `json:"started"`
	Planned int           `json:"planned"` // trials
	Options suite.Options `json:"options"`
}

// FinishedTrial is what came of one trial, in brief.
type FinishedTrial struct {
	Scenario string        `json:"scenario"`
	Variant  string        `json:"variant,omitempty"`
	Trial    int           `json:"trial"`
	Standing suite.Outcome `json:"standing"`
	Why      string        `json:"why,omitempty"` // unless it is as expected
}

// Progress writes a run's progress as it goes.
type Progress struct {
	folder *Folder
	mu     sync.Mutex
	file   *os.File
}

// Begin makes the progress file of a run in its folder.
func (f *Folder) Begin(run Run) (*Progress, error) {
	// It has its name once it has its first line: a reader may come at any time.
	err := writeFile(f.root, ProgressFile, func(w io.Writer) error {
		begun := RunStart{run.Started.UTC(), run.Planned, run.Options}
		return json.NewEncoder(w).Encode(progressLine{Begun: &begun})
	})
	p := &Progress{folder: f}
	if err == nil {
		p.file, err = f.root.OpenFile(ProgressFile, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write to the output folder: %w", err)
	}
	return p, nil
}

// Observe writes down a trial that has finished. What cannot be written is not
// missed: the report will have it.
func (p *Progress) Observe(t suite.Result) {
	standing, why := t.Outcome()
	done := FinishedTrial{Scenario: t.Scenario, Variant: t.Variant, Trial: t.Trial, Standing: standing}
	if standing != suite.AsExpected {
		done.Why = why
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	json.NewEncoder(p.file).Encode(progressLine{Trial: &done}) // a line in one write
}

// End removes the file: the report has been written.
func (p *Progress) End() error {
	return errors.Join(p.file.Close(), p.folder.root.Remove(ProgressFile))
}

// RunInProgress is a run that has not ended, or was killed.
type RunInProgress struct {
	RunStart
	Done int // trials
	// Alive is whether its harness still runs.
	Alive bool
}

// ReadProgress reads how far the run in a folder below root is: a line for the run, and then
// one for each trial that has finished.
func ReadProgress(root *os.Root, dir string) (*RunInProgress, error) {
	file, err := openRegular(root, filepath.Join(dir, ProgressFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := input.NewLines(file)
	data, err := lines.Next()
	var line progressLine
	if err == nil {
		err = json.Unmarshal(data, &line)
	}
	if err == nil && line.Begun == nil {
		err = errors.New("this is not the beginning of a run's progress")
	}
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", ProgressFile, err)
	}
	u := &RunInProgress{RunStart: *line.Begun, Alive: held(root, filepath.Join(dir, MarkFile))}
	for {
		if _, err := lines.Next(); err != nil { // at the end, or as far as can be read
			return u, nil
		}
		u.Done++
	}
}

// held says whether somebody holds the lock on a folder's mark.
func held(root *os.Root, mark string) bool {
	file, err := openRegular(root, mark)
	if err != nil {
		return false
	}
	defer file.Close() // and with it the lock
	free, err := filelock.Shared(file)
	return err == nil && !free
}

// openRegular opens what is a file, and neither a link to one nor a pipe, which
// would wait for its writer.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a %s and no file", name, kindOf(info))
	}
	return root.Open(name)
}
