package reports

import (
	"fmt"
	"io"
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// markdownWidth is the width of drawings in summary.md, which a page on GitHub
// shows without scrolling.
const markdownWidth = 100

// markdownSigns are the standings' signs in the table.
var markdownSigns = map[suite.Outcome]string{
	suite.AsExpected:   "✅",
	suite.Differs:      "❌",
	suite.HarnessError: "💥",
	suite.Inconclusive: "❔",
	suite.Skipped:      "⏭️",
	suite.LimitOfClass: "🧱",
}

// WriteSummary writes summary.md in GitHub's Markdown, fit for a job summary:
// what came of the run (of a lock under test, its answers), an account of each row that is not as expected, and a
// table of all rows, the gravest first. Text from scenarios, locks and servers is escaped.
func (r *Report) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Lockproof: %s\n\n", r.Headline())
	if r.UnderTest() {
		b.WriteString(fenced(r.AnswersText(terminal.Screen{Width: markdownWidth})) + "\n")
	} else {
		fmt.Fprintf(&b, "%s\n\n", paragraph(r.Summary()))
	}
	fmt.Fprintf(&b, "%s\n\n", escape(r.Setting()))
	drawn := 0
	rows := r.BySeverity()
	for _, row := range rows {
		if row.Standing != suite.AsExpected && !row.preconditionFailed() {
			fmt.Fprintf(&b, "### %s %s\n\n%s\n", markdownSigns[row.Standing], escape(row.Name()),
				fenced(r.accountText(row, &drawn)))
		}
	}
	if len(r.Rows) > 0 {
		b.WriteString("| | scenario | verdicts | violated | trials as expected | time |\n")
		b.WriteString("|---|---|---|---|---:|---:|\n")
	}
	for _, row := range rows {
		b.WriteString(markdownRow(row))
	}
	for _, s := range r.Skips() {
		b.WriteString(markdownSkip("skipped", s))
	}
	for _, s := range r.preconditionSkips() {
		b.WriteString(markdownSkip("not applicable", s))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Headline is the run in three words.
func (r *Report) Headline() string {
	switch r.ExitCode() {
	case ExitDiffers:
		return "not as expected"
	case ExitFailed:
		return "the harness failed"
	case ExitInconclusive:
		return "inconclusive"
	}
	return "as expected"
}

// Setting says how the run was set up.
func (r *Report) Setting() string {
	o := r.Options
	cluster := o.Cluster + " cluster"
	if servers := r.servers(); len(servers) > 0 {
		cluster += " of " + list(servers)
	}
	parts := []string{cluster, Plural(o.Trials, "trial") + " each", fmt.Sprintf("seed %d", o.Seed)}
	if r.Slice != nil {
		parts = append(parts, fmt.Sprintf("slice %d of %d", r.Slice.Index, r.Slice.Count))
	}
	if o.TTL > 0 {
		parts = append(parts, "TTL "+Duration(o.TTL))
	}
	if o.Lock != "" {
		parts = append(parts, "lock "+o.Lock)
	}
	if o.Nodes > 0 {
		parts = append(parts, "on "+serversText(o.Nodes))
	}
	if len(o.Without) > 0 {
		parts = append(parts, "without "+list(o.Without))
	}
	return fmt.Sprintf("Lockproof %s, %s: %s.", r.Version, r.Go, strings.Join(parts, ", "))
}

func markdownRow(row *Row) string {
	name := code(row.Scenario)
	if s := row.Setting(); s != "" {
		name += "<br>" + escape(s)
	}
	sign := markdownSigns[row.Standing] + " " + string(row.Standing)
	var verdicts, violated []string
	for _, p := range row.Shown() {
		verdicts = append(verdicts, escape(p.Name+": "+p.Verdict()))
		violated = append(violated, escape(p.Rate.String()))
	}
	if row.Standing == suite.HarnessError && len(verdicts) == 0 {
		verdicts = []string{escape(row.Why)}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d of %d | %s |\n", sign, name,
		strings.Join(verdicts, "<br>"), strings.Join(violated, "<br>"),
		row.Counts[suite.AsExpected], len(row.Trials), Duration(row.Elapsed))
}

// markdownSkip is one row of the table for all that were skipped for one reason.
func markdownSkip(heading string, s Skip) string {
	names := make([]string, len(s.Names))
	for i, name := range s.Names {
		names[i] = code(name)
	}
	return fmt.Sprintf("| %s %s | %s | %s | | | |\n", markdownSigns[suite.Skipped], heading, strings.Join(names, "<br>"),
		escape(s.Why))
}
