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

// accounts tells of every row that differs, failed or is undecided, the
// gravest first.
func (r *Report) accounts(p *terminal.Page) {
	drawn := 0
	causes := map[string]string{} // with the row that was told of first
	for _, row := range r.BySeverity() {
		if !row.toldInFull() {
			continue
		}
		cause, known := row.Told().Cause()
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
	return slices.ContainsFunc(r.Told().Results,
		func(result checker.Result) bool { return result.Cause == checker.Unfinished })
}

// account tells of one row; drawn counts the drawings of all.
func (r *Report) account(row *Row, p *terminal.Page, drawn *int) {
	trial := row.Told()
	title := fmt.Sprintf("%s: %s", strings.ToUpper(string(row.Standing)), terminal.Clean(row.Name()))
	p.Line(p.Style(title, outcomeStyle(row.Standing)))
	p.Hang("  ", TrialText(trial.Result))
	standing := slices.DeleteFunc(slices.Clone(row.Findings()), func(f Finding) bool { return f.Outcome != row.Standing })
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

// accountText is the account of a row in a file that is no terminal.
func (r *Report) accountText(row *Row) string {
	p := &terminal.Page{Screen: terminal.Screen{Width: markdownWidth}}
	r.account(row, p, new(int))
	return p.String()
}

// print tells of a violation, indented: what happened, the cause, and, where the history
// is there and a drawing is wanted, the lanes. It reports whether there is a drawing.
func (f Finding) print(p *terminal.Page, draw bool) (drawn bool) {
	add := func(prefix, text string) {
		if text != "" {
			p.Hang("    "+prefix, text)
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
