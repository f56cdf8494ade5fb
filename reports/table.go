package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// VerdictSigns abbreviate verdicts, so that a colour is never the only difference.
var VerdictSigns = map[string]string{history.Holds: "✓", history.Violated: "✗", history.Inconclusive: "?"}

// sign is the sign of the property's worst verdict.
func (p Property) sign(screen terminal.Screen) string {
	return screen.Style(VerdictSigns[p.Verdict()], p.Tone().style())
}

// key explains a table's signs; more is appended.
func key(screen terminal.Screen, more string) string {
	text := fmt.Sprintf("%s holds   %s violated   %s inconclusive   %s",
		VerdictSigns[history.Holds], VerdictSigns[history.Violated], VerdictSigns[history.Inconclusive], more)
	return strings.Join(terminal.Hanging("", text, screen.Width), "\n")
}

// Print writes the report: rows that are not as expected, the table by severity, skipped scenarios with reasons, the
// violations of a few named scenarios, and the totals. The table is complete if scenarios were named or the screen is
// verbose; otherwise it omits rows that are as expected.
func (r *Report) Print(w io.Writer, screen terminal.Screen) error {
	p := &terminal.Page{Screen: screen}
	r.print(p)
	_, err := io.WriteString(w, p.String())
	return err
}

func (r *Report) print(p *terminal.Page) {
	r.accounts(p)
	if !r.UnderTest() || p.Verbose || r.Named {
		r.printRows(p, p.Verbose || r.Named)
	}
	if r.UnderTest() {
		r.printAnswers(p)
	}
	if !r.UnderTest() || r.Interrupted {
		p.Hang("", r.Summary())
	}
}

// printRows writes the whole table, or the rows that are not as expected.
func (r *Report) printRows(p *terminal.Page, whole bool) {
	rows := r.BySeverity()
	if !whole {
		rows = slices.DeleteFunc(rows, func(row *Row) bool { return row.Standing == suite.AsExpected })
	}
	if len(rows) > 0 {
		p.Line(r.table(rows, p.Screen))
		p.Line(p.Style(key(p.Screen, "trials: as expected/all"), terminal.Faint))
		if p.Verbose {
			p.Hang("", uniformRates(rows))
		}
		p.Line("")
	}
	r.Skips().print(p, "skipped: ", whole)
	r.expectedViolations(p)
	r.needsAllNodesSkips().print(p, "not applicable: ", whole)
}

// Summary states the result of the run in one or two sentences.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%s in %s.", Plural(r.Ran(), "trial"), Duration(r.Elapsed))
	if counts := r.countsText(); counts != "" {
		text = counts + "; " + text
	}
	if r.Interrupted {
		why := "The run was interrupted"
		if r.Incomplete != nil {
			why = r.Incomplete.String()
		}
		text += fmt.Sprintf(" %s: %d of %s were not run.", why, max(0, r.Planned-len(trialsOf(r.Rows))),
			Plural(r.Planned, "trial"))
	}
	return text
}

// countsText counts the rows that hold, that are violated as expected, and each other standing.
func (r *Report) countsText() string {
	counts, violated := r.Totals(), 0
	for _, row := range r.Rows {
		broken := func(p Property) bool { return p.Expected == history.Violated && p.Verdict() == history.Violated }
		if row.Standing == suite.AsExpected && slices.ContainsFunc(row.Properties, broken) {
			violated++
		}
	}
	holds := counts[suite.AsExpected] - violated
	delete(counts, suite.AsExpected)
	var parts []string
	switch {
	case holds == 1:
		parts = append(parts, "1 holds")
	case holds > 1:
		parts = append(parts, fmt.Sprintf("%d hold", holds))
	}
	if violated > 0 {
		parts = append(parts, fmt.Sprintf("%d violated as expected", violated))
	}
	if others := CountsText(counts); others != "" {
		parts = append(parts, others)
	}
	return strings.Join(parts, ", ")
}

// CountsText counts by standing: "3 as expected, 1 differs".
func CountsText(counts map[suite.Standing]int) string {
	var parts []string
	for _, s := range []suite.Standing{suite.AsExpected, suite.Differs, suite.HarnessError, suite.LimitOfClass,
		suite.Inconclusive, suite.Skipped} {
		switch n := counts[s]; {
		case n > 1 && s == suite.Differs:
			parts = append(parts, fmt.Sprintf("%d differ", n))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// Line describes the row in one line, for a log.
func (r *Row) Line(screen terminal.Screen) string {
	standing := screen.Style(string(r.Standing), r.Tone().style())
	line := fmt.Sprintf("%s: %s: %s", standing, terminal.Clean(r.Name()), terminal.Clean(r.Why))
	if r.Standing == suite.Skipped {
		return line
	}
	trials := Plural(len(r.Trials), "trial")
	if n := r.Counts[r.Standing]; n < len(r.Trials) {
		trials = fmt.Sprintf("%d of %s", n, trials)
	}
	return fmt.Sprintf("%s (%s, %s)", line, trials, Duration(r.Elapsed))
}

// BySeverity are the rows that ran, the most severe first; rows with one standing stay in the run's order.
func (r *Report) BySeverity() []*Row {
	var rows []*Row
	for _, row := range r.Rows {
		if row.Standing != suite.Skipped {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b *Row) int {
		return slices.Index(severity, a.Standing) - slices.Index(severity, b.Standing)
	})
	return rows
}

func (r *Report) table(rows []*Row, screen terminal.Screen) string {
	t := terminal.NewTable("scenario", "verdicts", "trials", "standing", "time")
	previous := ""
	for _, row := range rows {
		t.Row(
			nameCell(row.Scenario, row.Setting(), previous),
			verdictCell(row, screen),
			fmt.Sprintf("%d/%d", row.Counts[suite.AsExpected], len(row.Trials)),
			screen.Style(string(row.Standing), row.Tone().style()),
			Duration(row.Elapsed))
		previous = row.Scenario
	}
	return t.Fitted(screen)
}

func (r *Report) skipped() []*Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row *Row) bool { return row.Standing != suite.Skipped })
}

// nameCell names a scenario once, with its variants indented below.
func nameCell(scenario, setting, previous string) string {
	variant := "  " + terminal.Clean(setting)
	switch {
	case setting == "":
		return terminal.Clean(scenario)
	case scenario == previous:
		return variant
	}
	return terminal.Clean(scenario) + "\n" + variant
}

func verdictCell(row *Row, screen terminal.Screen) string {
	var lines []string
	for _, p := range row.Shown() {
		lines = append(lines, verdictLine(p, screen))
	}
	switch {
	case len(lines) > 0:
		return strings.Join(lines, "\n")
	case row.Standing == suite.HarnessError:
		return "none: the harness failed"
	case len(row.Properties) == 0:
		return VerdictSigns[history.Inconclusive] + " nothing violated"
	}
	return VerdictSigns[history.Holds] + " nothing violated"
}

// verdictLine is a property's worst verdict. If trials differ, it adds that verdict's share, and on a verbose screen
// the rate of violations. Where they agree, uniformRates has the rate once for all rows.
func verdictLine(p Property, screen terminal.Screen) string {
	line := p.sign(screen) + " " + terminal.Clean(p.Name)
	n, all := p.share()
	if n < all {
		line += fmt.Sprintf(" %d/%d", n, all)
		if screen.Verbose && p.Rate.Trials > 1 {
			line += "\n  violated in " + p.Rate.String()
		}
	}
	return line
}

// uniformRates states what is known of a property whose trials agree: "... violated in 0 of 5, at most 44 % at 95 %."
func uniformRates(rows []*Row) string {
	var rates []Rate
	for _, row := range rows {
		for _, p := range row.Shown() {
			if n, all := p.share(); n == all && p.Rate.Trials > 1 && !slices.Contains(rates, p.Rate) {
				rates = append(rates, p.Rate)
			}
		}
	}
	slices.SortFunc(rates, func(a, b Rate) int {
		return cmp.Or(cmp.Compare(a.Violated, b.Violated), cmp.Compare(a.Trials, b.Trials))
	})
	var texts []string
	for _, rate := range rates {
		texts = append(texts, rate.String())
	}
	if len(texts) == 0 {
		return ""
	}
	return "Where all trials agree, a property was violated in " + strings.Join(texts, ", or in ") + "."
}
