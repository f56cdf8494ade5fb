package reports

import (
	"fmt"
	"path/filepath"
	"sync"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// Finding is what one trial shows about one property, to be told.
type Finding struct {
	suite.Judgement
	// Reason is the checker's, where the verdict is inconclusive.
	Reason string
	// Violation is the first one; More is how many others the trial has.
	Violation *checker.Violation
	More      int
	// Cause is what experiments have shown of it; nil: none were made.
	Cause *cause.Cause
	// Story is nil where the history was not kept; Trouble then says why it
	// could not be read, if it should have been there.
	Story   *Story
	Trouble error
}

// collectFindings are the judgements of the trial that is told that stand as the row does, with what is known
// of them. Its history is read if there is a violation to tell of.
func (r *Row) collectFindings() []Finding {
	read := sync.OnceValues(func() (*History, error) { return r.History(r.told) })
	var all []Finding
	for _, j := range r.told.Judgements() {
		if j.Outcome != r.Standing {
			continue
		}
		f := Finding{Judgement: j, Cause: r.told.CauseOf(j.Property)}
		for _, result := range r.told.Results {
			if result.Property == j.Property {
				f.Reason = result.Reason
				if len(result.Violations) > 0 {
					f.Violation, f.More = &result.Violations[0], ViolationCount(result)-1
				}
			}
		}
		if f.Violation != nil {
			h, err := read()
			if f.Trouble = err; h != nil {
				story := h.Tell(f.Violation)
				f.Story = &story
			}
		}
		all = append(all, f)
	}
	return all
}

// chooseFindings settles which trial of a row the words tell of: one that is not as
// expected; and of the scenarios that the user named, where they are few, one that
// shows the violation which was expected.
func (r *Report) chooseFindings(row *Row) {
	switch row.Standing {
	case suite.Differs, suite.HarnessError, suite.LimitOfClass, suite.Inconclusive:
		row.told = row.First().Result
	case suite.AsExpected:
		trial, violated := row.FirstViolated()
		if !violated || !r.Named || len(r.BySeverity()) > maxShown {
			return
		}
		row.told = trial.Result
	default:
		return
	}
	row.findings = sync.OnceValue(row.collectFindings)
}

// History reads the history of one of the row's trials, nil if it was not kept.
func (r *Row) History(t suite.Result) (*History, error) {
	if t.History == "" {
		return nil, nil
	}
	name := filepath.FromSlash(t.History)
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("the history %q is not a path below the output folder", t.History)
	}
	return readToDraw(filepath.Join(r.out, name))
}

// ViolationCount is how many the trial had: a result spells out only the first.
func ViolationCount(r checker.Result) int {
	return max(len(r.Violations), int(r.Measured["violations"]))
}

// summary says what was expected, what came of it, and where there are several
// trials how often.
func (f Finding) summary(rate Rate) string {
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

// consequence says what follows where there is no violation to tell of.
func (f Finding) consequence() string {
	if f.Got == history.Holds && f.Expected == history.Violated {
		return "The scenario is there to break this property, and it did not: " +
			"either the fault had no effect, or the alarm does not ring any more."
	}
	return ""
}

// property finds the row's figures for a property: none if nobody judged it, or the row is nil.
func (r *Row) property(name string) Property {
	if r != nil {
		for _, p := range r.Properties {
			if p.Name == name {
				return p
			}
		}
	}
	return Property{Name: name}
}

// trialText says which trial is told of.
func trialText(t suite.Result) string {
	return fmt.Sprintf("Trial %d, seed %d, %s cluster, lock %s", t.Trial, t.Seed, t.Cluster, t.Lock)
}
