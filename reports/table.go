package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// The terminal's own colours: green, red, yellow, and a faint one.
var (
	greenStyle  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	redStyle    = lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true)
	yellowStyle = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	faintStyle  = lipgloss.NewStyle().Faint(true)
	boldStyle   = lipgloss.NewStyle().Bold(true)
)

var outcomeStyles = map[suite.Outcome]lipgloss.Style{
	suite.AsExpected:   greenStyle,
	suite.Differs:      redStyle,
	suite.HarnessError: redStyle,
	suite.Inconclusive: yellowStyle,
	suite.Skipped:      faintStyle,
	suite.LimitOfClass: yellowStyle,
}

var answerStyles = map[suite.Answer]lipgloss.Style{
	suite.Bug:           redStyle,
	suite.Failed:        redStyle,
	suite.Limit:         yellowStyle,
	suite.Undecided:     yellowStyle,
	suite.Holds:         greenStyle,
	suite.NotApplicable: faintStyle,
}

// verdictSigns are how verdicts are abbreviated, in UTF-8 and in ASCII.
var verdictSigns = map[string][2]string{
	history.Holds:        {"✓", "+"},
	history.Violated:     {"✗", "x"},
	history.Inconclusive: {"?", "?"},
}

func (s Screen) sign(verdict string) string {
	if s.UTF8 {
		return verdictSigns[verdict][0]
	}
	return verdictSigns[verdict][1]
}

// key explains the table's abbreviations.
func (s Screen) key() string {
	text := fmt.Sprintf("%s holds   %s violated   %s inconclusive   trials: as expected/all",
		s.sign(history.Holds), s.sign(history.Violated), s.sign(history.Inconclusive))
	return strings.Join(hanging("", text, s.Width), "\n")
}

// Print writes the report for a reader: an account of each row that is not as
// expected, the table, the gravest rows first, why scenarios were skipped and which,
// what a few named scenarios show, and what came of the run. Where scenarios were not
// named and the screen is not verbose, the table is of what is not as expected.
func (r *Report) Print(w io.Writer, screen Screen) error {
	var b strings.Builder
	b.WriteString(r.accounts(screen))
	if r.UnderTest() && !screen.Verbose && !r.Named {
		b.WriteString(r.AnswersText(screen))
		_, err := io.WriteString(w, screen.plain(b.String()))
		return err
	}
	rows, whole := r.BySeverity(), screen.Verbose || r.Named
	if !whole {
		rows = slices.DeleteFunc(rows, func(row *Row) bool { return row.Standing == suite.AsExpected })
	}
	if len(rows) > 0 {
		b.WriteString(r.table(rows, screen) + "\n")
		b.WriteString(screen.style(screen.key(), faintStyle) + "\n\n")
	}
	b.WriteString(skipGroups(r.Skips()).text("skipped: ", whole, screen))
	b.WriteString(r.expectedViolations(screen))
	b.WriteString(r.preconditionSkips().text("not applicable: ", whole, screen))
	if r.UnderTest() {
		b.WriteString(r.AnswersText(screen))
	}
	b.WriteString(strings.Join(hanging("", r.Summary(), screen.Width), "\n") + "\n")
	_, err := io.WriteString(w, screen.plain(b.String()))
	return err
}

// plain replaces the one unit that ASCII cannot write.
func (s Screen) plain(text string) string {
	if s.UTF8 {
		return text
	}
	return strings.ReplaceAll(text, "µ", "u")
}

// Summary says in one or two sentences what came of the run.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%s in %s.", plural(r.Ran(), "trial"), Duration(r.Elapsed))
	if counts := r.countsText(); counts != "" {
		text = counts + "; " + text
	}
	if r.Interrupted {
		why := "The run was interrupted"
		if r.Incomplete != nil {
			why = r.Incomplete.String()
		}
		text += fmt.Sprintf(" %s: %d of %s were not run.", why, max(0, r.Planned-r.finished()), plural(r.Planned, "trial"))
	}
	return text
}

// countsText says of the rows how many hold, how many are violated as their scenario expects, and how the others stand.
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

// CountsText says how many stand how: "3 as expected, 1 differs".
func CountsText(counts map[suite.Outcome]int) string {
	var parts []string
	for _, s := range []suite.Outcome{suite.AsExpected, suite.Differs, suite.HarnessError, suite.LimitOfClass, suite.Inconclusive, suite.Skipped} {
		switch n := counts[s]; {
		case n > 1 && s == suite.Differs:
			parts = append(parts, fmt.Sprintf("%d differ", n))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// Line tells the row in one line, for a log.
func (r *Row) Line(screen Screen) string {
	standing := screen.style(string(r.Standing), outcomeStyles[r.Standing])
	line := fmt.Sprintf("%s: %s: %s", standing, clean(r.Name()), clean(r.Why))
	if r.Standing == suite.Skipped {
		return screen.plain(line)
	}
	trials := plural(len(r.Trials), "trial")
	if n := r.Counts[r.Standing]; n < len(r.Trials) {
		trials = fmt.Sprintf("%d of %s", n, trials)
	}
	return screen.plain(fmt.Sprintf("%s (%s, %s)", line, trials, Duration(r.Elapsed)))
}

// BySeverity are the rows that were run: what differs, failed or is undecided comes
// before what is as expected, and rows that stand alike in the run's order.
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

func (r *Report) table(rows []*Row, screen Screen) string {
	t := newTable(screen).Headers("scenario", "verdicts", "trials", "standing", "time")
	previous := ""
	for _, row := range rows {
		t.Row(
			nameCell(row, previous),
			verdictCell(row, screen),
			fmt.Sprintf("%d/%d", row.Counts[suite.AsExpected], len(row.Trials)),
			screen.style(string(row.Standing), outcomeStyles[row.Standing]),
			Duration(row.Elapsed))
		previous = row.Scenario
	}
	return t.fitted(screen)
}

func (r *Report) skipped() []*Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row *Row) bool { return row.Standing != suite.Skipped })
}

// nameCell names a scenario once, and below it, indented, its variants.
func nameCell(row *Row, previous string) string {
	setting := "  " + clean(row.Setting())
	switch {
	case row.Setting() == "":
		return clean(row.Scenario)
	case row.Scenario == previous:
		return setting
	}
	return clean(row.Scenario) + "\n" + setting
}

func verdictCell(row *Row, screen Screen) string {
	var lines []string
	for _, p := range row.Shown() {
		lines = append(lines, verdictLine(p, screen))
	}
	switch {
	case len(lines) > 0:
		return strings.Join(lines, "\n")
	case row.Standing == suite.HarnessError:
		return "none: the harness failed"
	}
	return screen.sign(row.noneViolated()) + " nothing violated"
}

// noneViolated is the verdict to show of a row that names no property and
// violates none.
func (r *Row) noneViolated() string {
	if len(r.Properties) == 0 {
		return history.Inconclusive
	}
	return history.Holds
}

// verdictLine is a property's worst verdict, with how many trials gave it
// unless all did.
func verdictLine(p Property, screen Screen) string {
	verdict, n := p.Verdict(), p.Holds
	style := greenStyle
	switch verdict {
	case history.Violated:
		n, style = p.Violated, redStyle
	case history.Inconclusive:
		n, style = p.Inconclusive, yellowStyle
	}
	line := screen.style(screen.sign(verdict), style) + " " + clean(p.Name)
	if all := p.Holds + p.Violated + p.Inconclusive; n < all {
		line += fmt.Sprintf(" %d/%d", n, all)
	}
	return line
}

// grid is a lipgloss table with a line below its headers and no other.
type grid struct{ *table.Table }

func newTable(screen Screen) grid {
	border := lipgloss.NormalBorder()
	if !screen.UTF8 {
		border = lipgloss.ASCIIBorder()
		border.MiddleLeft, border.Middle, border.MiddleRight = "-", "-", "-"
	}
	return grid{table.New().Border(border).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(true)}
}

func (g grid) Headers(names ...string) grid {
	g.Table.Headers(names...)
	return g
}

// fitted renders the table with a gap of two columns, or of one where it would
// be wider than the screen; if that is still too wide, cells wrap.
func (g grid) fitted(screen Screen) string {
	for _, gap := range []int{2, 1} {
		text := g.StyleFunc(cellStyle(screen, gap)).String()
		if lipgloss.Width(text) <= screen.Width {
			return trimLines(text)
		}
	}
	return trimLines(g.Width(screen.Width).String())
}

func cellStyle(screen Screen, gap int) table.StyleFunc {
	return func(row, _ int) lipgloss.Style {
		style := lipgloss.NewStyle().PaddingRight(gap)
		if row == table.HeaderRow && screen.Colour {
			return style.Inherit(boldStyle)
		}
		return style
	}
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
