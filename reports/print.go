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

// maxDrawings bounds the drawings of a report. lockproof check draws the others.
const maxDrawings = 5

// maxShown bounds the rows of a run whose expected violations are printed.
const maxShown = 6

// expectedViolations describes expected violations if the user named a few scenarios: a reader wants to see them.
func (r *Report) expectedViolations(p *terminal.Page) {
	rows := r.BySeverity()
	if !r.Named || len(rows) > maxShown {
		return
	}
	for _, row := range rows {
		if _, violated := row.FirstViolated(); row.Standing != suite.AsExpected || !violated {
			continue
		}
		p.Line(p.Style(terminal.Clean(row.Name()), terminal.Bold))
		for _, f := range row.Findings() {
			if f.Got == history.Violated {
				p.Hang("  ", f.Property+": violated, as expected")
				if f.print(p, true) {
					p.Line("")
				}
			}
		}
	}
}

// accounts describes each row that differs, failed or is undecided, by severity.
func (r *Report) accounts(p *terminal.Page) {
	drawn := 0
	causes := map[string]string{} // to the row described first
	for _, row := range r.BySeverity() {
		if !row.describedInFull() {
			continue
		}
		cause, known := row.ShownTrial().Cause()
		if earlier, again := causes[cause.Key]; known && again {
			p.Hang("", fmt.Sprintf("%s: %s: %s: %s", strings.ToUpper(string(row.Standing)), row.Name(), cause.As(earlier),
				cause.Sentence))
			p.Line("")
			continue
		}
		if known {
			causes[cause.Key] = row.Name()
		}
		r.account(row, p, &drawn)
		p.Line("")
	}
}

// describedInFull reports whether a row is described with its story: it differs, failed, or is undecided for another
// reason than an interruption or a wait for all nodes. Undecided rows of a lock under test are not.
func (r *Row) describedInFull() bool {
	switch r.Standing {
	case suite.Differs, suite.HarnessError:
		return true
	case suite.Inconclusive:
		return !r.underTest() && !r.needsAllNodes() && !r.cutShort()
	}
	return false
}

// cutShort reports whether an interruption ended the row's trial.
func (r *Row) cutShort() bool {
	return slices.ContainsFunc(r.ShownTrial().Results,
		func(result checker.Result) bool { return result.Cause == checker.Unfinished })
}

// account describes one row; drawn counts all drawings.
func (r *Report) account(row *Row, p *terminal.Page, drawn *int) {
	trial := row.ShownTrial()
	title := fmt.Sprintf("%s: %s", strings.ToUpper(string(row.Standing)), terminal.Clean(row.Name()))
	p.Line(p.Style(title, row.Tone().style()))
	p.Hang("  ", TrialText(trial.Result))
	standing := slices.DeleteFunc(slices.Clone(row.Findings()), func(f Finding) bool { return f.Standing != row.Standing })
	if len(standing) == 0 {
		p.Hang("  ", row.Why)
	}
	for _, f := range standing {
		p.Hang("  ", f.summary(row.property(f.Property).Rate))
		if f.print(p, *drawn < maxDrawings) {
			p.Line("")
			*drawn++
		}
	}
	if trial.History != "" {
		p.Line("  history: " + filepath.Join(r.Options.Out, trial.History))
	}
	if trial.Repeat != "" {
		p.Line("  reproduce: " + terminal.Clean(trial.Repeat))
	}
}

// accountText describes a row for a file.
func (r *Report) accountText(row *Row) string {
	p := &terminal.Page{Screen: terminal.Screen{Width: markdownWidth}}
	r.account(row, p, new(int))
	return p.String()
}

// print describes a violation, indented: what happened, the cause, and the lanes if there is a story and draw is set.
// It reports whether it drew lanes.
func (f Finding) print(p *terminal.Page, draw bool) (drawn bool) {
	add := func(prefix, text string) {
		if text != "" {
			p.Hang("    "+prefix, text)
		}
	}
	add("", f.What)
	for _, fact := range f.Facts {
		add("- ", fact)
	}
	add("", f.Cause)
	if f.More > 0 {
		add("", fmt.Sprintf("This trial has %s.", Plural(f.More, "further violation")))
	}
	if f.Err != nil {
		add("no drawing: ", f.Err.Error())
	}
	if f.Story == nil || !draw {
		return false
	}
	p.Line("")
	inner := p.Screen
	inner.Width -= 4
	for line := range strings.Lines(f.Story.Draw(inner)) {
		p.Line(strings.TrimRight("    "+line, "\n "))
	}
	return true
}
