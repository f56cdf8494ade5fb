package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/input"
)

// Read reads the report of a run from its folder, which becomes Options.Out. It computes again what follows from the
// trials. An error names the file and the mistake.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, ResultsFile)
	file, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w: give the output folder of a run that has ended", path, input.Cause(err))
	}
	defer file.Close()
	results, in := &Results{}, json.NewDecoder(file)
	if err := in.Decode(results); err != nil {
		return nil, fmt.Errorf("%s is not the results of a run: %w", path, err)
	}
	if in.More() {
		return nil, fmt.Errorf("%s is not the results of one run: something follows them", path)
	}
	if slices.Contains(results.Scenarios, nil) {
		return nil, fmt.Errorf("%s is not the results of a run: a row of scenarios is null", path)
	}
	trials := trialsOf(results.Scenarios)
	if err := results.check(trials); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	run := results.Run
	run.Version, run.Go, run.Options.Out = results.Tool.Version, results.Tool.Go, dir
	return New(trials, run), nil
}

// check refuses other format versions, paths out of the folder, and impossible slices and numbers of trials.
func (r *Results) check(trials []suite.Result) error {
	switch {
	case r.Tool.Name != "lockproof":
		return errors.New("it is not from lockproof")
	case r.Version != ResultsVersion:
		return fmt.Errorf("it has version %d of the format, and this program reads version %d", r.Version, ResultsVersion)
	case len(trials) > r.Planned || len(trials) < r.Planned && !r.Interrupted:
		return fmt.Errorf("planned is %d, and it has %s: only a run that is marked as interrupted has fewer, and none "+
			"has more",
			r.Planned, Plural(len(trials), "trial"))
	}
	if s := r.Slice; s != nil {
		if _, err := suite.ParseSlice(s.Slice.String()); err != nil {
			return fmt.Errorf("its slice: %w", err)
		}
		if len(s.Rows)*r.Options.Trials < s.Count {
			return fmt.Errorf("slice.count is %d, and its suite has %s of %s each: each slice has one trial at least",
				s.Count, Plural(len(s.Rows), "row"), Plural(r.Options.Trials, "trial"))
		}
	}
	for _, t := range trials {
		if t.History != "" && !filepath.IsLocal(t.History) {
			return fmt.Errorf("%s, trial %d: the history %q is not in the folder", t.Name(), t.Trial, t.History)
		}
	}
	return checkDistinct(trials)
}

// checkDistinct refuses a trial that is there twice: it would count for another one that is missing.
func checkDistinct(trials []suite.Result) error {
	seen := map[string]bool{}
	for _, t := range trials {
		id := fmt.Sprintf("%s, trial %d", t.Name(), t.Trial)
		if seen[id] {
			return fmt.Errorf("%s is there more than once", id)
		}
		seen[id] = true
	}
	return nil
}

// trialsOf returns the trials of all rows; all other fields of a row follow from them.
func trialsOf(rows []*Row) []suite.Result {
	var all []suite.Result
	for _, row := range rows {
		for _, t := range row.Trials {
			all = append(all, t.Result)
		}
	}
	return all
}
