package reports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/internal/input"
)

// Finding is what one trial shows about one property, to be told.
type Finding struct {
	suite.Judgement
	// Reason is the checker's, where the verdict is inconclusive.
	Reason string
	// Violation is the first one; More is how many others the trial has.
	Violation *checker.Violation
	More      int
	// Story is nil where the history was not kept; Trouble then says why it
	// could not be read, if it should have been there.
	Story   *Story
	Trouble error
}

// Findings are the judgements of a trial that stand as given, with what is
// known of them. The trial's history is looked for in the folder out.
func Findings(t suite.Trial, standing suite.Standing, out string) []Finding {
	var findings []Finding
	for _, j := range t.Judgements() {
		if j.Standing != standing {
			continue
		}
		f := Finding{Judgement: j}
		for _, r := range t.Results {
			if r.Property == j.Property {
				f.Reason = r.Reason
				if len(r.Violations) > 0 {
					f.Violation, f.More = &r.Violations[0], violations(r)-1
				}
			}
		}
		if f.Violation != nil {
			f.Story, f.Trouble = storyFromFile(t.History, out, f.Violation)
		}
		findings = append(findings, f)
	}
	return findings
}

func storyFromFile(name, out string, v *checker.Violation) (*Story, error) {
	if name == "" {
		return nil, nil
	}
	events, err := ReadToDraw(filepath.Join(out, name))
	if len(events) == 0 {
		return nil, err
	}
	story := Tell(events, checker.Leases(events), checker.Timeline(events), v)
	return &story, nil
}

// drawable is how long a history may be, in bytes, for a report to draw it: some
// eighty thousand events. A drawing of more shows nothing, and takes memory that
// the run itself was spared.
const drawable = 16 << 20

// ErrTooLong is that of a history that is too long to be drawn.
var ErrTooLong = errors.New("too long to draw")

// ReadToDraw is ReadHistory for a history that is not too long to be drawn.
func ReadToDraw(path string) ([]history.Event, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > drawable {
		return nil, fmt.Errorf("%s is %w, with %d MB: lockproof check judges it and tells its first violations", path, ErrTooLong, info.Size()>>20)
	}
	return ReadHistory(path)
}

// ReadHistory reads a file of events. Where only the end of the file is bad it
// gives the events before it as well as the error.
func ReadHistory(path string) ([]history.Event, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, NameHistory(path, err)
	}
	defer f.Close()
	events, err := history.Read(f)
	if err != nil {
		return events, NameHistory(path, err)
	}
	return events, nil
}

// NameHistory adds a history's path to an error that came of reading or judging
// it.
func NameHistory(path string, err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return fmt.Errorf("cannot read the history %s: %w", path, pathError.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// violations is how many the trial had: a result spells out only the first.
func violations(r checker.Result) int {
	return max(len(r.Violations), int(r.Measured["violations"]))
}

// sentence says what was expected, what came of it, and where there are several
// trials how often.
func (f Finding) sentence(rate Rate) string {
	expected := "expected " + f.Expected
	if f.Expected == "" {
		expected = "expected not to be violated"
	}
	text := fmt.Sprintf("%s: %s, got %s", f.Property, expected, f.Got)
	switch {
	case f.Got == history.Inconclusive && f.Reason != "":
		return text + ": " + f.Reason
	case f.Got == history.Inconclusive || rate.Trials < 2:
		return text
	}
	return fmt.Sprintf("%s; violated in %s", text, rate)
}

// moral says what follows where there is no violation to tell of.
func (f Finding) moral() string {
	if f.Got == history.Holds && f.Expected == history.Violated {
		return "The scenario is there to break this property, and it did not: either the fault had no effect, or the alarm does not ring any more."
	}
	return ""
}

// blameText says which rule or assumption broke, when, and why that was enough.
func blameText(b *checker.Blame) string {
	return fmt.Sprintf("%s, broken at %s by %s. %s", b.Broke, at(b.Time), b.Process, b.Why)
}

// property finds the row's figures for a property.
func (r *Row) property(name string) Property {
	for _, p := range r.Properties {
		if p.Name == name {
			return p
		}
	}
	return Property{Name: name}
}

// occasion says which trial is told of.
func occasion(t suite.Trial) string {
	return fmt.Sprintf("Trial %d, seed %d, %s cluster, lock %s", t.Trial, t.Seed, t.Cluster, t.Lock)
}
