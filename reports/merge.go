package reports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
)

// Merge makes one report of the slices of a run, in the suite's order, whose folder
// is to be out. Slices that are missing, or were cut short, make it an interrupted
// one, which says which they are. It refuses slices that are not of one suite, run in
// one way by one version, and says which and why; and one that is there twice.
func Merge(parts []*Report, out string) (*Report, error) {
	if err := checkSameSuite(parts); err != nil {
		return nil, err
	}
	first := parts[0]
	merged := Run{Version: first.Version, Go: first.Go, Started: first.Started, Options: first.Options}
	merged.Options.Out = out
	merged.Planned = len(first.Slice.Rows) * first.Options.Trials
	found := map[int]bool{}
	var ended time.Time
	var trials []suite.Result
	for _, s := range parts {
		found[s.Slice.Index] = s.Interrupted
		if s.Started.Before(merged.Started) {
			merged.Started = s.Started
		}
		if end := s.Started.Add(s.Elapsed); end.After(ended) {
			ended = end
		}
		if s.Options.Parallel != merged.Options.Parallel {
			merged.Options.Parallel = 0 // each machine had its own
		}
		trials = append(trials, trialsOf(s.Rows)...)
	}
	merged.Elapsed = ended.Sub(merged.Started)
	merged.Incomplete = suite.FindIncomplete(first.Slice.Count, found)
	merged.Interrupted = merged.Incomplete != nil
	if !merged.Interrupted && len(trials) < merged.Planned {
		return nil, fmt.Errorf("all %d slices are there and whole, and they have %d of %s: they are not of one run",
			first.Slice.Count, len(trials), Plural(merged.Planned, "trial"))
	}
	sortSlices(trials, first.Slice.Rows)
	return New(trials, merged), nil
}

// sortSlices sorts trials by their rows' places.
func sortSlices(trials []suite.Result, rows []string) {
	place := map[string]int{}
	for i, name := range rows {
		place[name] = i
	}
	slices.SortStableFunc(trials, func(a, b suite.Result) int { return place[a.Name()] - place[b.Name()] })
}

// checkSameSuite says what keeps slices from being those of one run.
func checkSameSuite(parts []*Report) error {
	if len(parts) == 0 {
		return errors.New("there is nothing to merge")
	}
	first := parts[0]
	var problems []error
	for _, s := range parts {
		if s.Slice == nil {
			problems = append(problems,
				fmt.Errorf("%s is a whole run and no slice: `lockproof compare` sets runs side by side", s.Options.Out))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for _, s := range parts[1:] {
		if difference := first.difference(s); difference != "" {
			problems = append(problems, fmt.Errorf("%s and %s are not slices of one run: %s",
				first.Options.Out, s.Options.Out, difference))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return checkDuplicates(parts)
}

// difference says in what two runs differ that slices of one run have in common, or "".
func (r *Report) difference(other *Report) string {
	switch {
	case r.Version != other.Version:
		return fmt.Sprintf("version %s and %s of lockproof", r.Version, other.Version)
	case r.Go != other.Go:
		return fmt.Sprintf("built by %s and %s", r.Go, other.Go)
	}
	a, b := reflect.ValueOf(r.Options), reflect.ValueOf(other.Options)
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		written := name != "-" && name != "parallel"
		if written && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return fmt.Sprintf("%s %v and %v", name, a.Field(i), b.Field(i))
		}
	}
	switch {
	case r.Slice.Count != other.Slice.Count:
		return fmt.Sprintf("slice %s and slice %s", r.Slice, other.Slice)
	case r.Slice.Suite != other.Slice.Suite:
		return "other scenarios, or the same names with another content"
	}
	return ""
}

// checkDuplicates says which slices are there more than once.
func checkDuplicates(parts []*Report) error {
	folders := map[int][]string{}
	for _, s := range parts {
		folders[s.Slice.Index] = append(folders[s.Slice.Index], s.Options.Out)
	}
	var problems []error
	for _, s := range parts {
		if found := folders[s.Slice.Index]; len(found) > 1 && found[0] == s.Options.Out {
			problems = append(problems, fmt.Errorf("slice %s is there more than once: %s", s.Slice, list(found)))
			delete(folders, s.Slice.Index)
		}
	}
	return errors.Join(problems...)
}

// CopyHistories copies the histories that a report's trials have kept into its
// folder, from the folders of the slices that it was merged from.
func (r *Report) CopyHistories(parts []*Report) error {
	to, err := os.OpenRoot(r.Options.Out)
	if err != nil {
		return fmt.Errorf("copy the histories: %w", err)
	}
	defer to.Close()
	for _, s := range parts {
		err := s.eachHistory(func(from *os.Root, name string, _ suite.Result) error { return copyHistory(from, to, name) })
		if err != nil {
			return fmt.Errorf("copy the histories: %w", err)
		}
	}
	return nil
}

func copyHistory(from, to *os.Root, name string) error {
	file, err := openRegular(from, name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return writeFile(to, name, func(w io.Writer) error {
		_, err := io.Copy(w, file)
		return err
	})
}

// MissingHistories says which histories of a run that was read back are not in
// its folder, or are links or folders there: nothing is taken from elsewhere.
func (r *Report) MissingHistories() error {
	var problems []error
	err := r.eachHistory(func(root *os.Root, name string, t suite.Result) error {
		path := filepath.Join(r.Options.Out, name)
		switch info, err := root.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems,
				fmt.Errorf("%s is not there, the history of %s, trial %d: keep the whole output folder",
					path, t.Name(), t.Trial))
		case err != nil:
			problems = append(problems, fmt.Errorf("%s, the history of %s, trial %d: %w", path, t.Name(), t.Trial, err))
		case !info.Mode().IsRegular():
			problems = append(problems, fmt.Errorf("%s, the history of %s, trial %d, is a %s: put the file itself there", path,
				t.Name(), t.Trial, kindOf(info)))
		}
		return nil
	})
	return errors.Join(append(problems, err)...)
}

// eachHistory gives every history that a run's trials have kept: its name below
// the folder, which is open.
func (r *Report) eachHistory(do func(root *os.Root, name string, t suite.Result) error) error {
	root, err := os.OpenRoot(r.Options.Out)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, t := range trialsOf(r.Rows) {
		if t.History == "" {
			continue
		}
		if err := do(root, filepath.FromSlash(t.History), t); err != nil {
			return err
		}
	}
	return nil
}
