package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockproof/harness"
)

// Read reads back the report that a run has left in a folder. What follows from
// the trials is worked out anew; the folder becomes Options.Out. An error names
// the file, and says what is wrong with it.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, ResultsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		var pathError *fs.PathError
		if errors.As(err, &pathError) {
			err = pathError.Err
		}
		return nil, fmt.Errorf("cannot read %s: %w: give the output folder of a run that has ended", path, err)
	}
	var results Results
	if err := json.Unmarshal(data, &results); err != nil {
		return nil, fmt.Errorf("%s is not the results of a run: %w", path, err)
	}
	if err := results.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var trials []harness.Trial
	for _, row := range results.Scenarios {
		for _, t := range row.Trials {
			trials = append(trials, t.Trial)
		}
	}
	options := results.Options.options()
	options.Out = dir
	return New(trials, Run{
		Version: results.Tool.Version, Go: results.Tool.Go, Started: results.Started, Elapsed: results.Elapsed,
		Options: options, Planned: results.Planned, Interrupted: results.Interrupted, Shard: results.Shard,
	}), nil
}

// check refuses results that this version cannot read, and names of files that
// lead out of the folder.
func (r Results) check() error {
	switch {
	case r.Tool.Name != "lockproof":
		return errors.New("it is not from lockproof")
	case r.Version != ResultsVersion:
		return fmt.Errorf("it has version %d of the format, and this program reads version %d", r.Version, ResultsVersion)
	}
	for _, row := range r.Scenarios {
		for _, t := range row.Trials {
			if t.History != "" && !filepath.IsLocal(t.History) {
				return fmt.Errorf("%s, trial %d: the history %q is not in the folder", t.Name(), t.Trial.Trial, t.History)
			}
		}
	}
	return nil
}
