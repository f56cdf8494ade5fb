package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/filelock"
	"example.org/lockproof/internal/input"
)

// ProgressFile is in the folder of a run that has not ended: a line for the run and one for each finished trial.
const ProgressFile = "progress.jsonl"

// progressLine has Begun in the first line, Trial in the others.
type progressLine struct {
	Begun *Run           `json:"begun,omitempty"`
	Trial *FinishedTrial `json:"trial,omitempty"`
}

// FinishedTrial is a short result of one trial.
type FinishedTrial struct {
	Scenario string         `json:"scenario"`
	Variant  string         `json:"variant,omitempty"`
	Trial    int            `json:"trial"`
	Standing suite.Standing `json:"standing"`
	Why      string         `json:"why,omitempty"` // "" if as expected
}

// Progress records the progress of a run.
type Progress struct {
	folder *Folder
	file   *os.File
}

// Begin creates the progress file.
func (f *Folder) Begin(run Run) (*Progress, error) {
	// The file gets its name together with its first line: a reader may open it at any time.
	err := writeFile(f.root, ProgressFile, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(progressLine{Begun: &run})
	})
	p := &Progress{folder: f}
	if err == nil {
		p.file, err = f.root.OpenFile(ProgressFile, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write to the output folder %s: %w", f.name, input.Cause(err))
	}
	return p, nil
}

// Observe records a finished trial. It ignores write errors: the report will contain the trial.
func (p *Progress) Observe(t suite.Result) {
	standing, why := t.Standing()
	done := FinishedTrial{Scenario: t.Scenario, Variant: t.Variant, Trial: t.Trial, Standing: standing}
	if standing != suite.AsExpected {
		done.Why = why
	}
	json.NewEncoder(p.file).Encode(progressLine{Trial: &done}) // a line in one write, which a file serializes
}

// End removes the file, after the report was written.
func (p *Progress) End() error {
	return errors.Join(p.file.Close(), p.folder.root.Remove(ProgressFile))
}

// RunInProgress is a run that has not ended; it may have been killed.
type RunInProgress struct {
	Run
	Done int // trials
	// Alive reports whether its harness still runs.
	Alive bool
}

// ReadProgress reads the progress of a run in a folder below root.
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
	u := &RunInProgress{Run: *line.Begun, Alive: isLocked(root, filepath.Join(dir, MarkFile))}
	for {
		if _, err := lines.Next(); err != nil { // the end, or an incomplete line
			return u, nil
		}
		u.Done++
	}
}

// isLocked reports whether a process holds the lock on a folder's mark.
func isLocked(root *os.Root, mark string) bool {
	file, err := openRegular(root, mark)
	if err != nil {
		return false
	}
	defer file.Close() // releases the lock
	free, err := filelock.Shared(file)
	return err == nil && !free
}

// openRegular opens a regular file. It refuses links, and pipes, which would block until a writer comes.
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
