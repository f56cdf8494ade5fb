package reports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// maxDrawings is how many differences a report draws; the others are told in
// words, and their histories drawn by lockproof check.
const maxDrawings = 5

// maxShown is how many rows a run of named scenarios has at most for what they
// show to be told under the table.
const maxShown = 6

// expectedViolations tells of the violations that were expected, where the user named a few
// scenarios: they were run to be looked at.
func (r *Report) expectedViolations(screen terminal.Screen) string {
	var b strings.Builder
	for _, row := range r.BySeverity() {
		if row.Standing != suite.AsExpected || row.shown.findings == nil {
			continue
		}
		b.WriteString(screen.Style(terminal.Clean(row.Name()), terminal.Bold) + "\n")
		for _, f := range row.shown.findings() {
			if f.Got == history.Violated {
				b.WriteString(screen.Wrap("  ", terminal.Clean(f.Property)+": violated, as expected"))
				b.WriteString(strings.Join(PrintFinding(f, screen, true), "\n") + "\n")
			}
		}
	}
	return b.String()
}

// accounts tells of every row that differs, failed or is undecided, the
// gravest first.
func (r *Report) accounts(screen terminal.Screen) string {
	var b strings.Builder
	drawn := 0
	causes := map[string]string{} // with the row that was told of first
	for _, row := range r.BySeverity() {
		if !row.toldInFull() {
			continue
		}
		cause, known := row.shown.trial.Cause()
		if earlier, again := causes[cause.Key]; known && again {
			line := fmt.Sprintf("%s: %s: %s: %s", strings.ToUpper(string(row.Standing)), row.Name(), cause.As(earlier),
				cause.Sentence)
			b.WriteString(screen.Wrap("", terminal.Clean(line)) + "\n")
			continue
		}
		if known {
			causes[cause.Key] = row.Name()
		}
		b.WriteString(r.account(row, screen, &drawn) + "\n")
	}
	return b.String()
}

// toldInFull reports whether a row is told of with its story: it differs, failed or is undecided, and not for
// the same reason as many others, nor because the run was cut short.
func (r *Row) toldInFull() bool {
	switch r.Standing {
	case suite.Differs, suite.HarnessError:
		return true
	case suite.Inconclusive:
		return !r.underTest() && !r.preconditionFailed() && !r.cutShort()
	}
	return false
}

// cutShort reports whether the row's trial was under way when the run was interrupted.
func (r *Row) cutShort() bool {
	return slices.ContainsFunc(r.shown.trial.Results,
		func(result checker.Result) bool { return result.Cause == checker.Unfinished })
}

func (r *Report) account(row *Row, screen terminal.Screen, drawn *int) string {
	trial := row.shown.trial
	title := fmt.Sprintf("%s: %s", strings.ToUpper(string(row.Standing)), terminal.Clean(row.Name()))
	lines := []string{screen.Style(title, outcomeStyles[row.Standing])}
	lines = append(lines, terminal.Hanging("  ", terminal.Clean(trialText(trial)), screen.Width)...)
	findings := row.shown.findings()
	if len(findings) == 0 {
		lines = append(lines, terminal.Hanging("  ", terminal.Clean(row.Why), screen.Width)...)
	}
	for _, f := range findings {
		lines = append(lines,
			terminal.Hanging("  ", terminal.Clean(f.summary(row.property(f.Property).Rate)), screen.Width)...)
		lines = append(lines, PrintFinding(f, screen, *drawn < maxDrawings)...)
		if f.Story != nil {
			*drawn++
		}
	}
	if trial.History != "" {
		lines = append(lines, "  history: "+filepath.Join(r.Options.Out, trial.History))
	}
	if trial.Repeat != "" {
		lines = append(lines, "  reproduce: "+terminal.Clean(trial.Repeat))
	}
	return strings.Join(lines, "\n") + "\n"
}

// PrintFinding tells of a violation, indented: what happened, the blame, and,
// where the history is there and a drawing is wanted, the lanes.
func PrintFinding(f Finding, screen terminal.Screen, draw bool) []string {
	var lines []string
	add := func(prefix, text string) {
		if text != "" {
			lines = append(lines, terminal.Hanging("    "+prefix, terminal.Clean(text), screen.Width)...)
		}
	}
	add("", f.consequence())
	if v := f.Violation; v != nil {
		add("", v.What)
		for _, fact := range v.Facts {
			add("- ", fact.What)
		}
		if f.Cause != nil {
			add("", f.Cause.Sentence())
		}
		if f.More > 0 {
			add("", fmt.Sprintf("This trial has %s.", Plural(f.More, "further violation")))
		}
	}
	if f.Trouble != nil {
		add("no drawing: ", f.Trouble.Error())
	}
	if f.Story == nil || !draw {
		return lines
	}
	lines = append(lines, "")
	inner := screen
	inner.Width -= 4
	for line := range strings.Lines(f.Story.Draw(inner)) {
		lines = append(lines, strings.TrimRight("    "+line, "\n "))
	}
	return append(lines, "")
}
