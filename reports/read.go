package reports

import (
	"errors"
	"fmt"
	"path/filepath"

	"lockproof/harness/suite"
	"lockproof/internal/input"
)

// Read reads back the report that a run has left in a folder. What follows from
// the trials is worked out anew; the folder becomes Options.Out. An error names
// the file, and says what is wrong with it.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, ResultsFile)
	file, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w: give the output folder of a run that has ended", path, input.Cause(err))
	}
	defer file.Close()
	results, trials, err := decodeResults(file)
	if err != nil {
		return nil, fmt.Errorf("%s is not the results of a run: %w", path, err)
	}
	if err := results.check(trials); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	options := results.Options.options()
	options.Out = dir
	lock := LockUnderTest{}
	if results.Lock != nil {
		lock = *results.Lock
	}
	return New(trials, Run{
		Lock:    lock,
		Version: results.Tool.Version, Go: results.Tool.Go, Started: results.Started, Elapsed: results.Elapsed,
		Options: options, Planned: results.Planned, Interrupted: results.Interrupted, Slice: results.Slice,
		Incomplete: results.Incomplete,
	}), nil
}

// check refuses results that this version cannot read, names of files that lead
// out of the folder, and numbers that no run writes.
func (r *Results) check(trials []suite.Result) error {
	switch {
	case r.Tool.Name != "lockproof":
		return errors.New("it is not from lockproof")
	case r.Version < 1 || r.Version > ResultsVersion:
		return fmt.Errorf("it has version %d of the format, and this program reads versions 1 to %d", r.Version, ResultsVersion)
	}
	if s := r.Slice; s != nil {
		if _, err := suite.ParseSlice(s.Slice.String()); err != nil {
			return fmt.Errorf("its slice: %w", err)
		}
	}
	for _, t := range trials {
		if t.History != "" && !filepath.IsLocal(t.History) {
			return fmt.Errorf("%s, trial %d: the history %q is not in the folder", t.Name(), t.Trial, t.History)
		}
	}
	return r.checkNumbers(trials)
}
