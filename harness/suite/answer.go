package suite

import (
	"cmp"
	"slices"

	"example.org/lockproof/checker"
)

// Answer says how a lock under test fared in one situation: a row of the suite has exactly one.
type Answer string

// The answers.
const (
	// Bug: a property is violated that the reference of the lock's class keeps.
	Bug Answer = "bug"
	// Failed: there is no answer, for the lock's process or the harness failed.
	Failed Answer = "failed"
	// Limit: what is violated, the reference of the lock's class violates as well.
	Limit Answer = "limit"
	// Undecided: the situation did not come about, or proved nothing.
	Undecided Answer = "undecided"
	// Holds: every property was kept, and put to the test.
	Holds Answer = "holds"
	// NotApplicable: the lock has no part in the situation.
	NotApplicable Answer = "not applicable"
)

// Answers lists all of them, the gravest first.
var Answers = []Answer{Bug, Failed, Limit, Undecided, Holds, NotApplicable}

// Answer gives the trial's answer, and why in words.
func (t Result) Answer() (Answer, string) {
	outcome, why := t.Outcome()
	if outcome == Skipped && t.Hint != "" {
		return Undecided, t.Hint
	}
	return outcome.Answer(), why
}

// Answer is what an outcome says of a lock under test.
func (o Outcome) Answer() Answer { return cmp.Or(answers[o], Failed) }

var answers = map[Outcome]Answer{Differs: Bug, LimitOfClass: Limit, Inconclusive: Undecided,
	AsExpected: Holds, Skipped: NotApplicable}

// Cause is why a property was violated: one sentence, and a key that is the same for violations of one cause. Where no
// experiment has shown a cause, the key is the property's.
type Cause struct {
	Sentence, Key string
	Shown         bool
}

// As says what a violation has in common with an earlier one of the same key.
func (c Cause) As(earlier string) string {
	if c.Shown {
		return "the same cause as in " + earlier
	}
	return "cause not shown; another violation of the property is drawn in " + earlier
}

// Cause gives the cause of the violation that decides the trial's answer; false where nothing is violated.
func (t Result) Cause() (Cause, bool) {
	r := t.Decisive()
	if r == nil {
		return Cause{}, false
	}
	if c := t.CauseOf(r.Property); c != nil {
		return Cause{c.Sentence(), r.Property + "\x00" + c.ID(), true}, true
	}
	return Cause{r.Violations[0].What, r.Property, false}, true
}

// Decisive is the result whose violation decides the trial's answer: the first that is a bug, or else the first that
// is a limit; nil where nothing is violated.
func (t Result) Decisive() *checker.Result {
	for _, outcome := range []Outcome{Differs, LimitOfClass} {
		for _, j := range t.Judgements() {
			i := slices.IndexFunc(t.Results,
				func(r checker.Result) bool { return r.Property == j.Property && len(r.Violations) > 0 })
			if j.Outcome == outcome && i >= 0 {
				return &t.Results[i]
			}
		}
	}
	return nil
}
