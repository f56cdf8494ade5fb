package reports

import (
	"fmt"
	"path/filepath"
	"strings"

	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// maxDrawings is how many differences a report draws; the others are told in
// words, and their histories drawn by lockproof check.
const maxDrawings = 5

// maxShown is how many rows a run of named scenarios has at most for what they
// show to be told under the table.
const maxShown = 6

// shows tells of the violations that were expected, where the user named a few
// scenarios: they were run to be looked at.
func (r *Report) shows(screen Screen) string {
	var b strings.Builder
	for _, row := range r.GravestFirst() {
		if row.Standing != suite.AsExpected || row.told.findings == nil {
			continue
		}
		b.WriteString(screen.style(clean(row.Name()), bold) + "\n")
		for _, f := range row.told.findings() {
			if f.Got == history.Violated {
				b.WriteString(strings.Join(hanging("  ", clean(f.Property)+": violated, as expected", screen.Width), "\n") + "\n")
				b.WriteString(strings.Join(PrintFinding(f, screen, true), "\n") + "\n")
			}
		}
	}
	return b.String()
}

// accounts tells of every row that differs, failed or is undecided, the
// gravest first.
func (r *Report) accounts(screen Screen) string {
	var b strings.Builder
	drawn := 0
	for _, row := range r.GravestFirst() {
		if row.Standing != suite.AsExpected && !row.unstaged() {
			b.WriteString(r.account(row, screen, &drawn) + "\n")
		}
	}
	return b.String()
}

func (r *Report) account(row *Row, screen Screen, drawn *int) string {
	trial := row.told.trial
	title := fmt.Sprintf("%s: %s", strings.ToUpper(string(row.Standing)), clean(row.Name()))
	lines := []string{screen.style(title, standingStyles[row.Standing])}
	lines = append(lines, hanging("  ", clean(occasion(trial)), screen.Width)...)
	findings := row.told.findings()
	if len(findings) == 0 {
		lines = append(lines, hanging("  ", clean(row.Why), screen.Width)...)
	}
	for _, f := range findings {
		lines = append(lines, hanging("  ", clean(f.sentence(row.property(f.Property).Rate())), screen.Width)...)
		lines = append(lines, PrintFinding(f, screen, *drawn < maxDrawings)...)
		if f.Story != nil {
			*drawn++
		}
	}
	if trial.History != "" {
		lines = append(lines, "  history: "+filepath.Join(r.Options.Out, trial.History))
	}
	if trial.Repeat != "" {
		lines = append(lines, "  reproduce: "+clean(trial.Repeat))
	}
	return strings.Join(lines, "\n") + "\n"
}

// PrintFinding tells of a violation, indented: what happened, the blame, and,
// where the history is there and a drawing is wanted, the lanes.
func PrintFinding(f Finding, screen Screen, draw bool) []string {
	var lines []string
	add := func(prefix, text string) {
		if text != "" {
			lines = append(lines, hanging("    "+prefix, clean(text), screen.Width)...)
		}
	}
	add("", f.moral())
	if v := f.Violation; v != nil {
		add("", v.What)
		if v.Blame != nil {
			add("blame: ", blameText(v.Blame))
		}
		if f.More > 0 {
			add("", fmt.Sprintf("This trial has %s.", plural(f.More, "further violation")))
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
