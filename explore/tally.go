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

// Line is a progress report in one line.
func (t Tally) Line() string {
	line := fmt.Sprintf("%d schedules, %d different violations", t.Schedules, len(t.Finds))
	if t.Shrinking {
		line += ", shrinking one"
	}
	return line
}

// Summary reports a search's results, with confidence bounds for drawn schedules.
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
	switch {
	case !s.Tested(t):
		b.WriteString("  nothing was put to the test" + since(t.Undecided) + "\n")
	case t.Undecided != "":
		b.WriteString("  a schedule could not be judged: " + t.Undecided + "\n")
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

// bound is the confidence bound for a property without a violation. An exhaustive search draws no sample, so it has
// none.
func (s *Search) bound(violated, judged int) string {
	_, most := checker.Wilson(violated, judged)
	if violated > 0 || s.Space.Exhaust || most > 0.5 {
		return ""
	}
	return fmt.Sprintf("; with 95 %% confidence, in at most 1 of %d", int(1/most))
}

// since is a reason, or "", as the end of a sentence.
func since(reason string) string {
	if reason == "" {
		return ""
	}
	return ", the first time since " + reason
}

// Failure counts the failed schedules, and has the first one's reason. Failed must not be empty.
func (t Tally) Failure() error {
	first := t.Failed[0]
	return fmt.Errorf("%d schedules failed, the first, %d, so: %s", len(t.Failed), first.Number, first.Why)
}

// Tested reports whether any schedule tested a property that counts.
func (s *Search) Tested(t Tally) bool {
	return slices.ContainsFunc(checker.Names(), func(p string) bool { return s.Space.counts(p) && t.Judged(p) > 0 })
}

// Judged counts the schedules that tested a property.
func (t Tally) Judged(property string) int {
	counts := t.Verdicts[property]
	return counts[history.Violated] + counts[history.Holds]
}

// Breaks reports whether a trial violated a property.
func (s *Space) Breaks(r suite.Result, property string) bool {
	return slices.Contains(s.violated(r), property)
}
