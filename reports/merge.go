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

	"lockproof/harness/suite"
)

// Merge makes one report of all shards of a suite, in the suite's order, whose
// folder is to be out. It refuses shards that are not of one suite, run in one
// way by one version, and says which and why; and a shard that is missing or
// there twice.
func Merge(shards []*Report, out string) (*Report, error) {
	if err := belongTogether(shards); err != nil {
		return nil, err
	}
	rows := shards[0].Shard.Rows
	place := map[string]int{}
	for i, name := range rows {
		place[name] = i
	}
	merged := Run{
		Version: shards[0].Version, Go: shards[0].Go, Started: shards[0].Started, Options: shards[0].Options,
	}
	merged.Options.Out = out
	var ended time.Time
	var trials []suite.Result
	for _, s := range shards {
		merged.Planned += s.Planned
		merged.Interrupted = merged.Interrupted || s.Interrupted
		if s.Started.Before(merged.Started) {
			merged.Started = s.Started
		}
		if end := s.Started.Add(s.Elapsed); end.After(ended) {
			ended = end
		}
		if s.Options.Parallel != merged.Options.Parallel {
			merged.Options.Parallel = 0 // each machine had its own
		}
		for _, row := range s.Rows {
			trials = append(trials, row.Trials...)
		}
	}
	merged.Elapsed = ended.Sub(merged.Started)
	slices.SortStableFunc(trials, func(a, b suite.Result) int { return place[a.Name()] - place[b.Name()] })
	return New(trials, merged), nil
}

// belongTogether says what keeps shards from being one suite.
func belongTogether(shards []*Report) error {
	if len(shards) == 0 {
		return errors.New("there is nothing to merge")
	}
	first := shards[0]
	var problems []error
	for _, s := range shards {
		if s.Shard == nil {
			problems = append(problems,
				fmt.Errorf("%s is a whole run and no shard: `lockproof compare` sets runs side by side", s.Options.Out))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for _, s := range shards[1:] {
		if difference := first.unlike(s); difference != "" {
			problems = append(problems, fmt.Errorf("%s and %s are not shards of one suite: %s",
				first.Options.Out, s.Options.Out, difference))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if err := eachOnce(shards); err != nil {
		return err
	}
	return everyRow(shards)
}

// unlike says in what two runs differ that shards of one suite have in common,
// or "".
func (r *Report) unlike(other *Report) string {
	switch {
	case r.Version != other.Version:
		return fmt.Sprintf("version %s and %s of lockproof", r.Version, other.Version)
	case r.Go != other.Go:
		return fmt.Sprintf("built by %s and %s", r.Go, other.Go)
	}
	a, b := reflect.ValueOf(resultsOptions(r.Options)), reflect.ValueOf(resultsOptions(other.Options))
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		if name != "parallel" && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return fmt.Sprintf("%s %v and %v", name, a.Field(i), b.Field(i))
		}
	}
	switch {
	case r.Shard.Count != other.Shard.Count:
		return fmt.Sprintf("shard %s and shard %s", r.Shard, other.Shard)
	case r.Shard.Suite != other.Shard.Suite:
		return "other scenarios, or the same names with another content"
	}
	return ""
}

// eachOnce says which shards are missing, and which are there twice.
func eachOnce(shards []*Report) error {
	folders := map[int][]string{}
	for _, s := range shards {
		folders[s.Shard.Index] = append(folders[s.Shard.Index], s.Options.Out)
	}
	var problems []error
	var missing []string
	for i := range shards[0].Shard.Count {
		shard := suite.Shard{Index: i + 1, Count: shards[0].Shard.Count}
		switch found := folders[shard.Index]; {
		case len(found) == 0:
			missing = append(missing, shard.String())
		case len(found) > 1:
			problems = append(problems, fmt.Errorf("shard %s is there more than once: %s", shard, list(found)))
		}
	}
	if len(missing) == 1 {
		problems = append(problems, fmt.Errorf("shard %s is missing", missing[0]))
	} else if len(missing) > 1 {
		problems = append(problems, fmt.Errorf("shards %s are missing", list(missing)))
	}
	return errors.Join(problems...)
}

// everyRow says which rows of the suite are not there, though no shard was cut
// short, and which do not belong there.
func everyRow(shards []*Report) error {
	found := map[string]string{} // the folder by the row
	var problems []error
	cut := false
	for _, s := range shards {
		cut = cut || s.Interrupted
		for _, row := range s.Rows {
			name := row.Trials[0].Name()
			switch {
			case !slices.Contains(s.Shard.Rows, name):
				problems = append(problems, fmt.Errorf("%s has a row that is not in its suite: %s", s.Options.Out, name))
			case found[name] != "":
				problems = append(problems, fmt.Errorf("%s is in two shards, %s and %s", name, found[name], s.Options.Out))
			case len(row.Trials) != s.Options.Trials && !s.Interrupted:
				problems = append(problems, fmt.Errorf("%s has %s of %s in place of %d",
					s.Options.Out, plural(len(row.Trials), "trial"), name, s.Options.Trials))
			}
			found[name] = s.Options.Out
		}
	}
	for _, name := range shards[0].Shard.Rows {
		if found[name] == "" && !cut {
			problems = append(problems, fmt.Errorf("no shard has the row %s", name))
		}
	}
	return errors.Join(problems...)
}

// CopyHistories copies the histories that a report's trials have kept into its
// folder, from the folders of the shards that it was merged from.
func (r *Report) CopyHistories(shards []*Report) error {
	to, err := os.OpenRoot(r.Options.Out)
	if err != nil {
		return fmt.Errorf("copy the histories: %w", err)
	}
	defer to.Close()
	for _, s := range shards {
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
	for _, row := range r.Rows {
		for _, t := range row.Trials {
			if t.History == "" {
				continue
			}
			if err := do(root, filepath.FromSlash(t.History), t); err != nil {
				return err
			}
		}
	}
	return nil
}
