package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// Judgement compares the verdict on one property with its expectation.
type Judgement struct {
	Property string `json:"property"`
	// Expected is a verdict, or "" for a property that the scenario does not name: it must only not be violated.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got"`
	// Standing is AsExpected, Differs, LimitOfClass or Inconclusive.
	Standing Standing `json:"standing"`
	// Why is the reason of the standing.
	Why string `json:"why"`
}

// Judgements compares each property that the scenario names or that was judged with its expectation, in the order of
// checker.Names(). It is empty for a trial that was skipped or failed.
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
		all = append(all, t.judge(result))
	}
	return all
}

// judgedProperties lists every property in either map: the known ones in the order of checker.Names(), then the
// others by name.
func judgedProperties(expect map[string]string, results map[string]checker.Result) []string {
	names := slices.Concat(checker.Names(), slices.Sorted(maps.Keys(expect)), slices.Sorted(maps.Keys(results)))
	slices.Sort(names[len(checker.Names()):])
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(p string) bool {
		_, named := expect[p]
		_, judged := results[p]
		again := seen[p]
		seen[p] = true
		return again || !named && !judged
	})
}

// judge compares a verdict with its expectation, and a violation by a lock under test with the verdict of the reference
// of its class.
func (t Result) judge(result checker.Result) Judgement {
	property, expected, got := result.Property, t.Expect[result.Property], result.Verdict
	j := Judgement{Property: property, Expected: expected, Got: got, Standing: Compare(expected, got, t.AllowBetter),
		Why: property + ": " + got}
	switch {
	case got == history.Violated && t.Reference != nil:
		j.Standing = Differs
		switch t.Reference[property] {
		case history.Violated:
			j.Standing = LimitOfClass
			j.Why += ", as by the reference of its class"
		case history.Holds:
			j.Why += ", and kept by the reference of its class"
		default:
			j.Why += ", and the reference of its class was not decided"
		}
	case expected == "" && got == history.Violated:
		j.Why += " (must never be, though this scenario does not test it)"
	case expected == history.Violated && got == history.Violated && result.Unmet != "":
		j.Standing = Inconclusive
		j.Why += ", but not as the scenario means to show: " + result.Unmet
	case expected == "" || expected == got:
	case got == history.Holds && j.Standing == AsExpected:
		j.Why += ", better than the reference's " + expected
	default:
		j.Why = fmt.Sprintf("%s: expected %s, got %s", property, expected, got)
		if got == history.Inconclusive && result.Reason != "" {
			j.Why += ": " + result.Reason
		}
	}
	return j
}

// Compare compares a verdict with its expectation, "" for a property that the scenario does not name: that one must
// not be violated. With lenient, "holds" is always as expected.
func Compare(expected, got string, lenient bool) Standing {
	switch {
	case expected == "" && got != history.Violated, expected == got, expected != "" && lenient && got == history.Holds:
		return AsExpected
	case expected != "" && got == history.Inconclusive:
		return Inconclusive
	}
	return Differs
}

// Standing compares the trial's verdicts with the expectations. Its reason lists every property that differs, or else
// every inconclusive one, or else those that the scenario names.
//
// A property that the scenario names must have the expected verdict, and any other must not be violated. With
// AllowBetter, a named one may also hold. An inconclusive verdict on a named property makes the trial inconclusive
// unless another property differs. So does a trial without a judged property.
func (t Result) Standing() (Standing, string) {
	switch {
	case t.Failure != "":
		return HarnessError, t.Failure
	case t.Skipped != "":
		return Skipped, t.Skipped
	}
	judgements := t.Judgements()
	for _, s := range []Standing{Differs, LimitOfClass} {
		if why := reasons(judgements, s); why != "" {
			return s, why
		}
	}
	if why := cmp.Or(t.NeedsAllNodes(), reasons(judgements, Inconclusive)); why != "" {
		return Inconclusive, why
	}
	if len(judgements) == 0 {
		return Inconclusive, "no property was judged"
	}
	return AsExpected, asExpected(judgements)
}

// NeedsAllNodes returns why a lock that waits for all of its nodes cannot show the situation, "" if it does not wait.
func (t Result) NeedsAllNodes() string {
	for _, r := range t.Results {
		if r.Cause == checker.NeedsAllNodes {
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

// asExpected lists only the properties that the scenario names.
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
