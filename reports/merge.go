package reports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
)

// Merge merges the slices of a run into one report, in the suite's order, for the folder out. With missing or
// interrupted slices the report is interrupted and names them. It refuses duplicates, and slices of different suites,
// options or versions, and names the difference.
func Merge(parts []*Report, out string) (*Report, error) {
	if err := checkSameSuite(parts); err != nil {
		return nil, err
	}
	first := parts[0]
	merged := first.Run // what the slices share; the rest follows
	merged.Slice, merged.Incomplete = nil, findIncomplete(parts)
	merged.Planned = len(first.Slice.Rows) * first.Options.Trials
	merged.Options.Out, merged.Interrupted = out, merged.Incomplete != nil
	var ended time.Time
	var trials []suite.Result
	for _, s := range parts {
		if s.Started.Before(merged.Started) {
			merged.Started = s.Started
		}
		if end := s.Started.Add(s.Elapsed); end.After(ended) {
			ended = end
		}
		if s.Options.Parallel != merged.Options.Parallel {
			merged.Options.Parallel = 0 // the machines differ
		}
		for _, t := range trialsOf(s.Rows) {
			if !slices.Contains(first.Slice.Rows, t.Name()) || t.Trial < 0 || t.Trial >= first.Options.Trials {
				return nil, fmt.Errorf("%s has %s, trial %d, which is not in its suite", s.Options.Out, t.Name(), t.Trial)
			}
			trials = append(trials, t)
		}
	}
	if err := checkDistinct(trials); err != nil {
		return nil, fmt.Errorf("the slices overlap: %w", err)
	}
	merged.Elapsed = ended.Sub(merged.Started)
	if !merged.Interrupted && len(trials) < merged.Planned {
		return nil, fmt.Errorf("all %d slices are there and whole, and they have %d of %s: they are not of one run",
			len(parts), len(trials), Plural(merged.Planned, "trial"))
	}
	slices.SortStableFunc(trials, func(a, b suite.Result) int {
		return slices.Index(first.Slice.Rows, a.Name()) - slices.Index(first.Slice.Rows, b.Name())
	})
	return New(trials, merged), nil
}

// MissingSlices lists the missing slices of a merged run, in order.
type MissingSlices struct {
	Slices   int   `json:"slices"` // their number in the whole run
	Missing  []int `json:"missing,omitempty"`
	CutShort []int `json:"cut_short,omitempty"` // interrupted
}

// findIncomplete lists missing and interrupted slices, nil if there are none.
func findIncomplete(parts []*Report) *MissingSlices {
	m := &MissingSlices{Slices: parts[0].Slice.Count}
	for i := 1; i <= m.Slices; i++ {
		switch at := slices.IndexFunc(parts, func(s *Report) bool { return s.Slice.Index == i }); {
		case at < 0:
			m.Missing = append(m.Missing, i)
		case parts[at].Interrupted:
			m.CutShort = append(m.CutShort, i)
		}
	}
	if len(m.Missing)+len(m.CutShort) == 0 {
		return nil
	}
	return m
}

// String formats the list: "Of 100 slices, missing: 3 and 17; cut short: 40".
func (m *MissingSlices) String() string {
	var parts []string
	for _, group := range []struct {
		what    string
		numbers []int
	}{{"missing", m.Missing}, {"cut short", m.CutShort}} {
		if len(group.numbers) > 0 {
			parts = append(parts, group.what+": "+list(strings.Fields(strings.Trim(fmt.Sprint(group.numbers), "[]"))))
		}
	}
	return fmt.Sprintf("Of %d slices, %s", m.Slices, strings.Join(parts, "; "))
}

// checkSameSuite returns an error if the slices are not from one run.
func checkSameSuite(parts []*Report) error {
	if len(parts) == 0 {
		return errors.New("there is nothing to merge")
	}
	first, folders := parts[0], map[int]string{}
	for _, s := range parts {
		if s.Slice == nil {
			return fmt.Errorf("%s is a whole run and no slice: `lockproof compare` sets runs side by side", s.Options.Out)
		}
		if difference := first.difference(s); difference != "" {
			return fmt.Errorf("%s and %s are not slices of one run: %s", first.Options.Out, s.Options.Out, difference)
		}
		if other := folders[s.Slice.Index]; other != "" {
			return fmt.Errorf("slice %s is there more than once: %s and %s", s.Slice, other, s.Options.Out)
		}
		folders[s.Slice.Index] = s.Options.Out
	}
	return nil
}

// difference names an option in which two slices differ, or returns "".
func (r *Report) difference(other *Report) string {
	switch {
	case r.Version != other.Version:
		return fmt.Sprintf("version %s and %s of lockproof", r.Version, other.Version)
	case r.Go != other.Go:
		return fmt.Sprintf("built by %s and %s", r.Go, other.Go)
	}
	a, b := reflect.ValueOf(r.Options), reflect.ValueOf(other.Options)
	for _, field := range reflect.VisibleFields(a.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		mine, theirs := a.FieldByIndex(field.Index), b.FieldByIndex(field.Index)
		written := !field.Anonymous && name != "-" && name != "parallel"
		if written && !reflect.DeepEqual(mine.Interface(), theirs.Interface()) {
			text := fmt.Sprintf("%s %v and %v", name, mine, theirs)
			if mine.Kind() == reflect.String { // one may be empty
				text = fmt.Sprintf("%s %q and %q", name, mine, theirs)
			}
			return text
		}
	}
	switch {
	case r.Slice.Count != other.Slice.Count:
		return fmt.Sprintf("slice %s and slice %s", r.Slice, other.Slice)
	case r.Slice.Suite != other.Slice.Suite:
		return "other scenarios, or the same names with another content"
	}
	name := cmp.Or(oneMore(r.Slice.Skipped, other.Slice.Skipped), oneMore(other.Slice.Skipped, r.Slice.Skipped))
	if name != "" {
		return fmt.Sprintf("%s was skipped on one machine only, so that they divided the trials differently", name)
	}
	return ""
}

// oneMore returns a name that only the first list has, or "".
func oneMore(names, other []string) string {
	for _, name := range names {
		if !slices.Contains(other, name) {
			return name
		}
	}
	return ""
}

// openHistories opens the histories of a run's trials by their names below its folder. It refuses links and folders.
func (r *Report) openHistories(visit func(name string, file *os.File) error) error {
	root, err := os.OpenRoot(r.Options.Out)
	if err != nil {
		return err
	}
	defer root.Close()
	var problems []error
	for _, t := range trialsOf(r.Rows) {
		if t.History == "" {
			continue
		}
		name := filepath.FromSlash(t.History)
		file, err := openRegular(root, name)
		if err == nil {
			err = errors.Join(visit(name, file), file.Close())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s, the history of %s, trial %d: %w: keep the whole output folder",
				filepath.Join(r.Options.Out, name), t.Name(), t.Trial, err))
		}
	}
	return errors.Join(problems...)
}

// CheckHistories returns an error that names the missing histories of a run.
func (r *Report) CheckHistories() error {
	return r.openHistories(func(string, *os.File) error { return nil })
}

// CopyHistories copies the histories of a run's trials into another folder.
func (r *Report) CopyHistories(out string) error {
	to, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer to.Close()
	return r.openHistories(func(name string, file *os.File) error {
		if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return writeFile(to, name, func(w io.Writer) error { _, err := io.Copy(w, file); return err })
	})
}
