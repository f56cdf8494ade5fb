package reports

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// Skip is a reason with the rows that were skipped for it.
type Skip struct {
	Why   string   `json:"why"`
	Names []string `json:"names"`
}

// Skips lists each reason once, in order of first occurrence.
type Skips []Skip

// Skips groups the skipped rows by reason.
func (r *Report) Skips() Skips {
	return r.groupRows(func(row *Row) bool { return row.Standing == suite.Skipped })
}

// needsAllNodesSkips groups the rows that a lock cannot show because it waits for all of its nodes.
func (r *Report) needsAllNodesSkips() Skips { return r.groupRows((*Row).needsAllNodes) }

func (r *Report) groupRows(include func(*Row) bool) (rows Skips) {
	for _, row := range r.Rows {
		if include(row) {
			rows.add(row.Why, row.Name())
		}
	}
	return rows
}

func (r *Row) needsAllNodes() bool {
	return r.Standing == suite.Inconclusive && r.First().NeedsAllNodes() != ""
}

func (s *Skips) add(why, name string) {
	for i := range *s {
		if (*s)[i].Why == why {
			if !slices.Contains((*s)[i].Names, name) {
				(*s)[i].Names = append((*s)[i].Names, name)
			}
			return
		}
	}
	*s = append(*s, Skip{why, []string{name}})
}

// print prints each reason once, with its rows below or, if named is false, with their number.
func (s Skips) print(p *terminal.Page, heading string, named bool) {
	for _, skip := range s {
		if !named {
			p.Hang(heading, fmt.Sprintf("%s (%s)", skip.Why, Plural(len(skip.Names), "row")))
			continue
		}
		p.Hang(heading, skip.Why)
		p.Line(p.Wrap("  ", unbroken(skip.Names, ", ")))
	}
}

// unbroken lists names, each of which stays on one line.
func unbroken(names []string, separator string) string {
	whole := make([]string, len(names))
	for i, name := range names {
		whole[i] = terminal.Unbroken(terminal.Clean(name))
	}
	return strings.Join(whole, separator)
}
