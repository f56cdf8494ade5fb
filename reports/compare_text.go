package reports

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// agreementSigns mark the rows that need attention.
var agreementSigns = map[Agreement]string{Disagree: "≠", Incomplete: "?"}

// Text formats the comparison: the runs, each property of each row, the reasons for disagreements, incomplete and
// skipped rows, and the totals.
func (c Comparison) Text(screen terminal.Screen) string {
	p := &terminal.Page{Screen: screen}
	for _, run := range c.Runs {
		p.Hang(screen.Style(terminal.Clean(run.Options.Out)+": ", terminal.Bold), run.Setting()+" "+run.Summary())
	}
	if len(c.Rows) > 0 {
		p.Line("\n" + c.table(screen))
		p.Line(screen.Style(key(screen, c.marks(screen)), terminal.Faint) + "\n")
	}
	c.explain(p)
	p.Hang("", c.Summary())
	return p.String()
}

// Summary states the totals in one sentence.
func (c Comparison) Summary() string {
	skipped := 0
	for _, row := range c.Rows {
		if slices.ContainsFunc(row.Cells, func(c *Row) bool { return c != nil && c.Standing == suite.Skipped }) {
			skipped++
		}
	}
	text := fmt.Sprintf("%s in %s: %d agree", Plural(len(c.Rows), "row"), Plural(len(c.Runs), "run"),
		len(c.Rows)-c.Disagreements-c.Incomplete)
	for _, more := range []struct {
		count int
		text  string
	}{
		{c.Disagreements, fmt.Sprintf(", %d disagree", c.Disagreements)},
		{c.Incomplete, fmt.Sprintf(", %d incomplete", c.Incomplete)},
		{skipped, fmt.Sprintf("; %d skipped in some run", skipped)},
		{c.Alone, fmt.Sprintf("; %s left out, which one run alone can have", Plural(c.Alone, "variant"))},
	} {
		if more.count > 0 {
			text += more.text
		}
	}
	return text + "."
}

// Name is the same as Row.Name.
func (r *ComparedRow) Name() string { return nameOf(r.Scenario, r.Setting) }

func (c Comparison) table(screen terminal.Screen) string {
	headers := []string{"", "scenario", "property"}
	for _, run := range c.Runs {
		headers = append(headers, terminal.Clean(run.Options.Out))
	}
	t := terminal.NewTable(headers...)
	previous := ""
	for _, row := range c.Rows {
		mark := screen.Style(agreementSigns[row.Agreement], terminal.Red)
		t.Row(append([]string{mark, nameCell(row.Scenario, row.Setting, previous)}, row.columns(screen)...)...)
		previous = row.Scenario
	}
	return t.Fitted(screen)
}

// columns are the properties, one to a line, and beside them each run's verdicts.
func (r *ComparedRow) columns(screen terminal.Screen) []string {
	properties := r.properties()
	columns := []string{strings.Join(properties, "\n")}
	for _, cell := range r.Cells {
		columns = append(columns, cell.column(properties, screen))
	}
	return columns
}

// column has the worst verdict on each property and how many trials gave it.
func (r *Row) column(properties []string, screen terminal.Screen) string {
	switch {
	case r == nil:
		return screen.Style("not run", terminal.Faint)
	case r.Standing == suite.Skipped:
		return screen.Style("skipped", terminal.Faint)
	case r.Standing == suite.HarnessError:
		return screen.Style("failed", terminal.Red)
	}
	lines := make([]string, len(properties))
	for i, name := range properties {
		lines[i] = "-"
		p := r.property(name)
		if n, all := p.share(); all > 0 {
			lines[i] = fmt.Sprintf("%s %d/%d", p.sign(screen), n, all)
		}
	}
	return strings.Join(lines, "\n")
}

// marks explains the table's numbers and signs.
func (c Comparison) marks(screen terminal.Screen) string {
	text := "n/m: in n of m trials"
	if c.Disagreements > 0 {
		text += "   " + agreementSigns[Disagree] + " the runs disagree"
	}
	if c.Incomplete > 0 {
		text += "   " + agreementSigns[Incomplete] + " before a scenario: not decided in every run"
	}
	return text
}

// explain explains skipped, disagreeing and incomplete rows. The table itself shows which run lacks a row.
func (c Comparison) explain(p *terminal.Page) {
	var skips Skips
	for _, row := range c.Rows {
		for _, cell := range row.Cells {
			if cell != nil && cell.Standing == suite.Skipped {
				skips.add(cell.Why, row.Name())
			}
		}
	}
	skips.print(p, "skipped: ", true)
	for _, agreement := range []Agreement{Disagree, Incomplete} {
		for _, row := range c.Rows {
			if row.Agreement == agreement && len(row.Why) > 0 {
				p.Line(p.Style(strings.ToUpper(string(agreement))+": "+terminal.Clean(row.Name()), terminal.Red))
				for _, why := range row.Why {
					p.Hang("  ", why)
				}
				p.Line("")
			}
		}
	}
}
