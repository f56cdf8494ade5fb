package suite

import (
	"cmp"
	"slices"

	"example.org/lockproof/checker"
)

// Answer is a lock's result in one situation: a row of the suite has exactly one.
type Answer string

// The answers.
const (
	// Bug: a property is violated, and the reference of the lock's class was not seen to violate it.
	Bug Answer = "bug"
	// Failed: the lock's process or the harness failed, so there is no answer.
	Failed Answer = "failed"
	// Limit: the reference of the lock's class violates the same properties.
	Limit Answer = "limit"
	// Undecided: the situation did not occur, or proved nothing.
	Undecided Answer = "undecided"
	// Holds: every property was tested and kept.
	Holds Answer = "holds"
	// NotApplicable: the situation does not concern the lock.
	NotApplicable Answer = "not applicable"
)

// Answers lists all of them, the most severe first.
var Answers = []Answer{Bug, Failed, Limit, Undecided, Holds, NotApplicable}

// Answer returns the trial's answer and its reason.
func (t Result) Answer() (Answer, string) {
	standing, why := t.Standing()
	if standing == Skipped && t.Hint != "" {
		return Undecided, t.Hint
	}
	return standing.Answer(), why
}

// Answer maps a standing to the answer for a lock under test.
func (o Standing) Answer() Answer { return cmp.Or(answers[o], Failed) }

var answers = map[Standing]Answer{Differs: Bug, LimitOfClass: Limit, Inconclusive: Undecided,
	AsExpected: Holds, Skipped: NotApplicable}

// Cause is why a trial failed or violated a property: a sentence, and a key that those of the same kind share. If no
// experiment has shown a violation's cause, the key is the property, and why none is shown.
type Cause struct {
	Sentence, Key string
	Shown         bool
}

// As relates a violation to an earlier one with the same key.
func (c Cause) As(earlier string) string {
	if c.Shown {
		return "of the same kind as " + earlier
	}
	return "cause not shown; another violation of the property is drawn in " + earlier
}

// Cause returns the cause of the failure or of the decisive violation; false without either.
func (t Result) Cause() (Cause, bool) {
	if t.Failure != "" {
		return Cause{t.Failure, t.Failure, true}, true
	}
	r := t.Decisive()
	if r == nil {
		return Cause{}, false
	}
	c, key := t.CauseOf(r.Property), r.Property
	if c.Found() {
		return Cause{c.Sentence(), key + "\x00" + c.ID(), true}, true
	}
	if c != nil {
		key += "\x00" + c.NotFound
	}
	sentence := r.Violations[0].What
	for _, fact := range r.Violations[0].Facts {
		sentence += "; " + fact.What
	}
	return Cause{sentence, key, false}, true
}

// Decisive is the result whose violation decides the trial's answer: the first bug, or else the first limit; nil
// without a violation.
func (t Result) Decisive() *checker.Result {
	for _, standing := range []Standing{Differs, LimitOfClass} {
		for _, j := range t.Judgements() {
			i := slices.IndexFunc(t.Results,
				func(r checker.Result) bool { return r.Property == j.Property && len(r.Violations) > 0 })
			if j.Standing == standing && i >= 0 {
				return &t.Results[i]
			}
		}
	}
	return nil
}
