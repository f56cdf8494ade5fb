package terminal

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table is rows of cells below headers. A cell may contain several lines.
type Table struct {
	headers []string
	rows    [][]string
}

// NewTable makes an empty table.
func NewTable(headers ...string) *Table { return &Table{headers: headers} }

// Row appends a row with one cell for each header.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Fitted formats the table for a screen: with a gap of two columns, or of one if it would be too wide. If that is still
// too wide, the widest columns wrap.
func (t *Table) Fitted(s Screen) string {
	widths := make([]int, len(t.headers))
	for _, row := range append([][]string{t.headers}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	gap := 2
	if total(widths, gap) > s.Width {
		gap = 1
	}
	for widest := 0; total(widths, gap) > s.Width; widths[widest]-- {
		widest = slices.Index(widths, slices.Max(widths))
		if widths[widest] == 1 {
			break
		}
	}
	headers := make([]string, len(t.headers))
	for i, name := range t.headers {
		headers[i] = s.Style(name, Bold)
	}
	lines := line(headers, widths, gap)
	lines = append(lines, strings.Repeat("─", min(s.Width, total(widths, gap)+gap)))
	for _, row := range t.rows {
		lines = append(lines, line(row, widths, gap)...)
	}
	return strings.Join(lines, "\n")
}

func total(widths []int, gap int) (columns int) {
	for _, w := range widths {
		columns += w + gap
	}
	return columns - gap
}

// line formats a row; its cells may wrap.
func line(cells []string, widths []int, gap int) (lines []string) {
	for i, cell := range cells {
		at := total(widths[:i], gap) + gap
		// Wrap lets a word with a hyphen in the last column be too long.
		text := ansi.Hardwrap(ansi.Wrap(cell, widths[i], ""), widths[i], true)
		for n, part := range strings.Split(text, "\n") {
			if n == len(lines) {
				lines = append(lines, "")
			}
			lines[n] += strings.Repeat(" ", max(0, at-Width(lines[n]))) + part
		}
	}
	for n := range lines {
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	return lines
}
