package reports

import (
	"fmt"
	"path/filepath"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// Finding is the result of one trial for one property, with its violation and story, as every report shows it.
type Finding struct {
	suite.Judgement
	// Violation is the first violation, nil if none. More counts the trial's others.
	Violation *checker.Violation
	More      int
	// What is the violation in one sentence, or says that one is missing. Facts are its events, Cause is the result of
	// experiments; "" without any.
	What  string
	Facts []string
	Cause string
	// Story is nil if the history was not kept. Err says why a kept history could not be read.
	Story *Story
	Err   error
}

// Findings returns a trial's result for each property, with the first violation and its story. Without a violation it
// adds the story of the whole history if a client held a lease or a node a key. Without a history there are no stories.
func Findings(trial suite.Result, h *History) (all []Finding) {
	broken := false
	for _, j := range trial.Judgements() {
		f := Finding{Judgement: j}
		if j.Got == history.Holds && j.Expected == history.Violated {
			f.What = missingViolation
		}
		i := slices.IndexFunc(trial.Results, func(r checker.Result) bool { return r.Property == j.Property })
		if j.Got == history.Violated && len(trial.Results[i].Violations) > 0 {
			r := trial.Results[i]
			broken = true
			f = h.finding(&r.Violations[0], trial.CauseOf(j.Property), j)
			f.More = ViolationCount(r) - 1
		}
		all = append(all, f)
	}
	if !broken && h != nil && h.Held() {
		all = append(all, h.finding(nil, nil, suite.Judgement{}))
	}
	return all
}

// finding describes a violation, or the whole history if v is nil. It has no story if the history is missing or too
// long.
func (h *History) finding(v *checker.Violation, c *cause.Cause, j suite.Judgement) Finding {
	f := Finding{Judgement: j, Violation: v}
	if h != nil && h.Events == nil {
		f.Err = errTooLong
	} else if h != nil {
		story := h.Tell(v)
		f.Story = &story
	}
	if v == nil {
		return f
	}
	f.What = v.What
	if plain := f.Story.Headline(v); plain != "" && j.Property == checker.ProtectedData {
		f.What, f.Facts = plain, []string{v.What}
	}
	for _, fact := range v.Facts {
		f.Facts = append(f.Facts, fact.What)
	}
	if c != nil {
		f.Cause = c.Sentence()
	}
	return f
}

// ShownTrial is the trial that reports describe: the first violated one if the row is as expected, otherwise the first
// with the row's standing.
func (r *Row) ShownTrial() Trial {
	if t, violated := r.FirstViolated(); violated && r.Standing == suite.AsExpected {
		return t
	}
	return r.First()
}

// readFindings returns the findings of the shown trial, whose history is in the folder out. If the history is
// unreadable, each violation and one more finding have the error.
func (r *Row) readFindings(out string) []Finding {
	shown := r.ShownTrial().Result
	h, err := historyOf(shown, out)
	all := Findings(shown, h)
	if err != nil {
		for i := range all {
			if all[i].Violation != nil {
				all[i].Err = err
			}
		}
		all = append(all, Finding{Err: err})
	}
	return all
}

// historyOf reads the history of one trial, nil if it was not kept.
func historyOf(t suite.Result, out string) (*History, error) {
	if t.History == "" {
		return nil, nil
	}
	name := filepath.FromSlash(t.History)
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("the history %q is not a path below the output folder", t.History)
	}
	return readToDraw(filepath.Join(out, name))
}

// ViolationCount returns the number of a trial's violations. A result lists only the first few.
func ViolationCount(r checker.Result) int {
	return max(len(r.Violations), int(r.Measured["violations"]))
}

// summary compares the verdict with the expected one and adds the violation rate if several trials ran.
func (f Finding) summary(rate Rate) string {
	if f.Got == history.Inconclusive || rate.Trials < 2 {
		return f.Why
	}
	return fmt.Sprintf("%s; violated in %s", f.Why, rate)
}

// missingViolation explains that a scenario did not show what it expects.
const missingViolation = "The scenario must break this property and did not: either the fault had no effect, or the " +
	"checker no longer detects the violation."

// property returns the row's counts for a property; zero counts if the row is nil or does not have it.
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

// TrialText identifies a trial.
func TrialText(t suite.Result) string {
	return fmt.Sprintf("Trial %d, seed %d, %s cluster, lock %s", t.Trial, t.Seed, t.Cluster, t.Lock)
}
