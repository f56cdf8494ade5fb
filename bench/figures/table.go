package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// WriteJSON writes the report for a program: every round of every figure.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for a reader: the machine, and each section with its targets.
func (r Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Machine)
	for _, s := range r.Sections {
		b.WriteString(s.text() + "\n")
	}
	b.WriteString("Medians of interleaved rounds; ± is half the distance between the quartiles.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Section) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", s.Title, s.table())
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	for _, t := range s.Targets {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	return b.String()
}

// table has a row for each of the section's rows and a column for each figure's name, in order of first appearance.
func (s Section) table() string {
	var columns []string
	for _, row := range s.Rows {
		for _, f := range row.Figures {
			if !slices.Contains(columns, f.Name) {
				columns = append(columns, f.Name)
			}
		}
	}
	t := table.New().Border(lipgloss.NormalBorder()).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		StyleFunc(func(_, column int) lipgloss.Style {
			if column == 0 {
				return lipgloss.NewStyle().PaddingRight(2)
			}
			return lipgloss.NewStyle().PaddingRight(2).Align(lipgloss.Right)
		}).
		Headers(append([]string{""}, columns...)...)
	for _, row := range s.Rows {
		cells := make([]string, len(columns))
		for _, f := range row.Figures {
			cells[slices.Index(columns, f.Name)] = f.String()
		}
		t.Row(append([]string{row.Name}, cells...)...)
	}
	return t.String()
}

// String is the median with its interval, 0.995 [0.990, 1.001], or with its spread, if any: 4.10 k/s ±3 %.
func (f Figure) String() string {
	if f.Interval != nil {
		return fmt.Sprintf("%.3f %s", f.Median, f.Interval)
	}
	text := f.Unit.Format(f.Median)
	if f.High > f.Low && f.Median != 0 {
		text += fmt.Sprintf(" ±%.0f %%", 50*(f.High-f.Low)/math.Abs(f.Median))
	}
	return text
}

// String has the bound, the measured value, and whether the target is reached.
func (t Target) String() string {
	sign := "✓"
	if !t.Reached {
		sign = "✗"
	}
	got := t.Unit.Format(t.Got)
	if t.Interval != nil {
		got = fmt.Sprintf("%.3f %s", t.Got, t.Interval)
	}
	return fmt.Sprintf("%s %s: %s, wanted %s %s", sign, t.What, got, t.Bound, t.Unit.Format(t.Want))
}

// String is both ends: [0.990, 1.001].
func (i *Interval) String() string { return fmt.Sprintf("[%.3f, %.3f]", i.Low, i.High) }

// prefix is a multiple of a unit.
type prefix struct {
	factor float64
	text   string
}

// prefixes are listed by unit, the largest first; the last is for smaller values.
var prefixes = map[Unit][]prefix{
	Count:     {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}},
	Ratio:     {{1, " x"}},
	PerSecond: {{1e6, " M/s"}, {1e3, " k/s"}, {1, " /s"}},
	Seconds:   {{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}},
	Bytes:     {{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}},
}

// Format writes a value in its unit to three digits: 1.25 ms, 4.10 k/s. A whole number without a prefix stays whole.
func (u Unit) Format(value float64) string {
	list := prefixes[u]
	p := list[len(list)-1]
	for _, larger := range list {
		if math.Abs(value) >= larger.factor {
			p = larger
			break
		}
	}
	scaled := value / p.factor
	if u != Ratio && scaled == math.Trunc(scaled) && math.Abs(scaled) < 1e6 {
		return strconv.FormatFloat(scaled, 'f', 0, 64) + p.text
	}
	digits := 2
	for limit := 10.0; digits > 0 && math.Abs(scaled) >= limit; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(scaled, 'f', digits, 64) + p.text
}
