package suite

import (
	"fmt"
	"slices"
	"strings"

	"lockproof/checker"
	"lockproof/harness/history"
)

// Judgement is how the verdict on one property compares with what was expected.
type Judgement struct {
	Property string `json:"property"`
	// Expected is a verdict, or "" for a property that the scenario does not
	// name: that one must not be violated, and nothing more is asked of it.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got"`
	// Standing is AsExpected, Differs or Undecided.
	Standing Standing `json:"standing"`
	// Why says in words what the standing rests on.
	Why string `json:"why"`
}

// Judgements compares each property that the scenario names or that was judged
// with what was expected, in the order of checker.Names(). A trial that was
// skipped or failed has none.
func (t Result) Judgements() []Judgement {
	if t.Skipped != "" || t.Failure != "" {
		return nil
	}
	results := map[string]checker.Result{}
	for _, r := range t.Results {
		results[r.Property] = r
	}
	var all []Judgement
	for _, property := range judgedProperties(t.Expect, results) {
		result, judged := results[property]
		if !judged {
			result = checker.NotJudged(property)
		}
		all = append(all, judge(property, t.Expect[property], result, t.Lenient))
	}
	return all
}

// judgedProperties lists every property in either map: the known ones in their
// usual order, then any others by name.
func judgedProperties(expect map[string]string, results map[string]checker.Result) []string {
	var known, others []string
	for _, p := range checker.Names() {
		_, named := expect[p]
		_, judged := results[p]
		if named || judged {
			known = append(known, p)
		}
	}
	for p := range expect {
		if !slices.Contains(checker.Names(), p) {
			others = append(others, p)
		}
	}
	for p := range results {
		if _, named := expect[p]; !named && !slices.Contains(checker.Names(), p) {
			others = append(others, p)
		}
	}
	slices.Sort(others)
	return append(known, others...)
}

func judge(property, expected string, result checker.Result, lenient bool) Judgement {
	got := result.Verdict
	j := Judgement{Property: property, Expected: expected, Got: got, Standing: Compare(expected, got, lenient)}
	switch {
	case expected == "" && got == history.Violated:
		j.Why = property + ": unexpectedly violated"
	case expected == history.Violated && got == history.Violated && result.Unmet != "":
		j.Standing = Undecided
		j.Why = property + ": violated, but not as the scenario means to show: " + result.Unmet
	case expected == "" || expected == got:
		j.Why = property + ": " + got
	case got == history.Inconclusive:
		j.Why = fmt.Sprintf("%s: expected %s, got inconclusive", property, expected)
		if result.Reason != "" {
			j.Why += ": " + result.Reason
		}
	case j.Standing == AsExpected:
		j.Why = fmt.Sprintf("%s: holds, better than the reference's %s", property, expected)
	default:
		j.Why = fmt.Sprintf("%s: expected %s, got %s", property, expected, got)
	}
	return j
}

// Compare says how a verdict on one property stands to what was expected of it, ""
// where the scenario does not name it: then it must not be violated. Lenient
// expectations may be surpassed.
func Compare(expected, got string, lenient bool) Standing {
	switch {
	case expected == "" && got != history.Violated, expected == got, expected != "" && lenient && got == history.Holds:
		return AsExpected
	case expected != "" && got == history.Inconclusive:
		return Undecided
	}
	return Differs
}

// Standing says how the trial's verdicts compare with what was expected, and
// why in words: every property that differs, or else every one that is
// undecided, or else what became of the properties that the scenario names.
//
// A property that is named must have the verdict that is named; one that is not
// named must not be violated. A lenient trial may also do better than expected.
// An inconclusive verdict on a named property leaves the trial undecided unless
// another property differs. A trial that judged nothing is undecided as well.
func (t Result) Standing() (Standing, string) {
	switch {
	case t.Failure != "":
		return HarnessError, t.Failure
	case t.Skipped != "":
		return Skipped, t.Skipped
	}
	judgements := t.Judgements()
	for _, s := range []Standing{Differs, Undecided} {
		why := reasons(judgements, s)
		if unstaged := t.Unstaged(); s == Undecided && unstaged != "" {
			return s, unstaged
		}
		if why != "" {
			return s, why
		}
	}
	if len(judgements) == 0 {
		return Undecided, "no property was judged"
	}
	return AsExpected, asExpected(judgements)
}

// Unstaged says why the scenario's setting did not come about with this lock, "" if it
// did. It is the same in every scenario.
func (t Result) Unstaged() string {
	for _, r := range t.Results {
		if r.Cause == checker.Unstaged {
			return r.Reason
		}
	}
	return ""
}

func reasons(judgements []Judgement, s Standing) string {
	var why []string
	for _, j := range judgements {
		if j.Standing == s {
			why = append(why, j.Why)
		}
	}
	return strings.Join(why, "; ")
}

// asExpected tells of the named properties only: that the others are not
// violated goes without saying.
func asExpected(judgements []Judgement) string {
	var why []string
	for _, j := range judgements {
		if j.Expected != "" {
			why = append(why, j.Why)
		}
	}
	if len(why) == 0 {
		return "no property is violated"
	}
	return strings.Join(why, "; ")
}
