package explore

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/wording"
)

// Line says in one line how it goes.
func (t Tally) Line() string {
	line := fmt.Sprintf("%d schedules, %d different violations", t.Schedules, len(t.Finds))
	if t.Shrinking {
		line += ", shrinking one"
	}
	return line
}

// Summary says what a search has come to, and what that means for schedules as they are drawn.
func (s *Search) Summary(t Tally) string {
	var b strings.Builder
	lock, of := s.Space.Lock, ""
	if len(s.Space.Without) > 0 {
		lock += " without " + strings.Join(s.Space.Without, ", ")
	}
	if s.Space.Exhaust {
		of = fmt.Sprintf(" of the %d of a small scope", s.Schedules)
	}
	fmt.Fprintf(&b, "%s: %d schedules%s in %s\n", lock, t.Schedules, of, wording.Duration(t.Elapsed))
	if t.Refused > 0 {
		fmt.Fprintf(&b, "  %d could not be run, the first since %s\n", t.Refused, t.Why)
	}
	if !s.Tested(t) {
		b.WriteString("  nothing was put to the test" + since(t.Undecided) + "\n")
	}
	for _, property := range checker.Names() {
		violated, judged := t.Verdicts[property][history.Violated], t.Judged(property)
		if judged == 0 || !s.Space.counts(property) {
			continue
		}
		fmt.Fprintf(&b, "  %-18s violated in %d of %d that test it%s\n", property, violated, judged,
			s.bound(violated, judged))
	}
	return b.String()
}

// bound says what it means that none of so many schedules broke a property. Where one did, that says it all; and an
// exhaustive search has drawn nothing that a bound could be about.
func (s *Search) bound(violated, judged int) string {
	_, most := checker.Wilson(violated, judged)
	if violated > 0 || s.Space.Exhaust || most > 0.5 {
		return ""
	}
	return fmt.Sprintf("; with 95 %% confidence, in at most 1 of %d", int(1/most))
}

// since gives a reason as the end of a sentence, if there is one.
func since(reason string) string {
	if reason == "" {
		return ""
	}
	return ", the first time since " + reason
}

// Failure says how many schedules the harness failed of, and how of the first; there is one.
func (t Tally) Failure() error {
	first := t.Failed[0]
	return fmt.Errorf("%d schedules failed, the first, %d, so: %s", len(t.Failed), first.Number, first.Why)
}

// Tested reports whether a schedule put a property that counts to the test.
func (s *Search) Tested(t Tally) bool {
	return slices.ContainsFunc(checker.Names(), func(p string) bool { return s.Space.counts(p) && t.Judged(p) > 0 })
}

// Judged counts the schedules that put a property to the test.
func (t Tally) Judged(property string) int {
	counts := t.Verdicts[property]
	return counts[history.Violated] + counts[history.Holds]
}

// Breaks reports whether a trial violated a property.
func (s *Space) Breaks(r suite.Result, property string) bool {
	return slices.Contains(s.violated(r), property)
}
