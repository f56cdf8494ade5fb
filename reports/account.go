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

// Finding is what one trial shows about one property, to be told.
type Finding struct {
	suite.Judgement
	// Violation is the first one, nil where there is none; More is how many others the trial has.
	Violation *checker.Violation
	More      int
	// Cause is what experiments have shown of it; nil: none were made.
	Cause *cause.Cause
	// Story is nil where the history was not kept; Trouble then says why it
	// could not be read, if it should have been there.
	Story   *Story
	Trouble error
}

// Findings are what a trial shows of each property, and of those that are violated the first violation with its story;
// where none is, the story of the whole history, if anybody ever had the lock or a key in it. A nil history tells none.
func Findings(trial suite.Result, h *History) (all []Finding) {
	broken := false
	for _, j := range trial.Judgements() {
		f := Finding{Judgement: j}
		i := slices.IndexFunc(trial.Results, func(r checker.Result) bool { return r.Property == j.Property })
		if j.Got == history.Violated && len(trial.Results[i].Violations) > 0 {
			r := trial.Results[i]
			broken = true
			f = h.finding(&r.Violations[0])
			f.Judgement, f.More, f.Cause = j, ViolationCount(r)-1, trial.CauseOf(j.Property)
		}
		all = append(all, f)
	}
	if !broken && h != nil && h.Held() {
		all = append(all, h.finding(nil))
	}
	return all
}

// finding tells of a violation, or of the whole if it is nil, with a story if there is a history that is not too long
// for one.
func (h *History) finding(v *checker.Violation) Finding {
	switch {
	case h == nil:
		return Finding{Violation: v}
	case h.Events == nil:
		return Finding{Violation: v, Trouble: errTooLong}
	}
	story := h.Tell(v)
	return Finding{Violation: v, Story: &story}
}

// Told is the trial that a report shows of the row: one that is not as expected; and where all are, one that shows a
// violation, if that was expected.
func (r *Row) Told() Trial {
	if t, violated := r.FirstViolated(); violated && r.Standing == suite.AsExpected {
		return t
	}
	return r.First()
}

// readFindings are those of the trial that is told. Where its history cannot be read, each violation says so, and one
// finding more.
func (r *Row) readFindings() []Finding {
	told := r.Told().Result
	h, trouble := r.history(told)
	all := Findings(told, h)
	if trouble != nil {
		for i := range all {
			if all[i].Violation != nil {
				all[i].Trouble = trouble
			}
		}
		all = append(all, Finding{Trouble: trouble})
	}
	return all
}

// history reads the history of one of the row's trials, nil if it was not kept.
func (r *Row) history(t suite.Result) (*History, error) {
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

// summary says what was expected and what came of it, and where there are several trials how often.
func (f Finding) summary(rate Rate) string {
	if f.Got == history.Inconclusive || rate.Trials < 2 {
		return f.Why
	}
	return fmt.Sprintf("%s; violated in %s", f.Why, rate)
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

// TrialText says which trial is told of.
func TrialText(t suite.Result) string {
	return fmt.Sprintf("Trial %d, seed %d, %s cluster, lock %s", t.Trial, t.Seed, t.Cluster, t.Lock)
}
