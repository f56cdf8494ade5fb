package reports

import (
	"fmt"
	"io"
	"strings"

	"lockproof/harness/suite"
)

// agreementMarks are those of Markdown's table.
var agreementMarks = map[Agreement]string{Agree: "", Disagree: "❌ disagree", Incomplete: "❔ incomplete"}

// WriteMarkdown writes the comparison in GitHub's Markdown, fit for a job
// summary.
func (c Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	headline := map[int]string{ExitAsExpected: "the runs agree", ExitDiffers: "the runs disagree",
		ExitInconclusive: "incomplete"}[c.ExitCode]
	fmt.Fprintf(&b, "## Lockproof: %s\n\n%s\n\n", headline, paragraph(c.Summary()))
	for _, run := range c.Runs {
		fmt.Fprintf(&b, "- **%s**: %s\n", escape(run.Name), escape(run.told()))
	}
	b.WriteString("\n| | scenario | property |")
	for _, run := range c.Runs {
		fmt.Fprintf(&b, " %s |", escape(run.Name))
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(c.Runs)) + "\n")
	for _, row := range c.Rows {
		name := code(row.Scenario)
		if row.Setting != "" {
			name += "<br>" + escape(row.Setting)
		}
		fmt.Fprintf(&b, "| %s | %s |", agreementMarks[row.Agreement], name)
		for _, column := range row.columns(Screen{UTF8: true}) {
			fmt.Fprintf(&b, " %s |", lines(column))
		}
		b.WriteString("\n")
	}
	c.markdownAccounts(&b)
	c.markdownSkipped(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// lines keeps the lines of a cell.
func lines(cell string) string {
	parts := strings.Split(cell, "\n")
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return strings.Join(parts, "<br>")
}

func (c Comparison) markdownAccounts(b *strings.Builder) {
	for _, row := range c.Rows {
		if len(row.Reasons()) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n### %s: %s\n\n", agreementMarks[row.Agreement], escape(row.Name()))
		for _, why := range row.Reasons() {
			fmt.Fprintf(b, "- %s\n", escape(why))
		}
	}
	for _, text := range c.lacking() {
		fmt.Fprintf(b, "\n%s\n", paragraph(text))
	}
}

func (c Comparison) markdownSkipped(b *strings.Builder) {
	head := "\n| skipped | in | because |\n|---|---|---|\n"
	for _, row := range c.Rows {
		for i, cell := range row.Cells {
			if cell.Standing == suite.Skipped {
				fmt.Fprintf(b, "%s| %s | %s | %s |\n", head, escape(row.Name()), escape(c.Runs[i].Name), escape(cell.Why))
				head = ""
			}
		}
	}
}
