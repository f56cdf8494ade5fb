package reports

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// Skip is a reason, and the rows that were skipped for it.
type Skip struct {
	Why   string   `json:"why"`
	Names []string `json:"names"`
}

// Skips are reasons, each once, in the order in which they come first.
type Skips []Skip

// Skips gathers the rows that were skipped by their reasons.
func (r *Report) Skips() Skips {
	return r.grouped(func(row *Row) bool { return row.Standing == suite.Skipped })
}

// preconditionSkips gathers the rows of locks with which a scenario's setting did not come about.
func (r *Report) preconditionSkips() Skips { return r.grouped((*Row).preconditionFailed) }

func (r *Report) grouped(are func(*Row) bool) (rows Skips) {
	for _, row := range r.Rows {
		if are(row) {
			rows.add(row.Why, row.Name())
		}
	}
	return rows
}

func (r *Row) preconditionFailed() bool {
	return r.Standing == suite.Inconclusive && r.First().PreconditionFailed() != ""
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

// print tells each reason once, behind a word or two, and below it its rows, or behind
// it how many they are.
func (s Skips) print(p *terminal.Page, heading string, named bool) {
	for _, skip := range s {
		if !named {
			p.Hang(heading, fmt.Sprintf("%s (%s)", skip.Why, Plural(len(skip.Names), "row")))
			continue
		}
		names := make([]string, len(skip.Names))
		for i, name := range skip.Names {
			names[i] = terminal.Unbroken(terminal.Clean(name))
		}
		p.Hang(heading, skip.Why)
		p.Line(p.Wrap("  ", strings.Join(names, ", ")))
	}
}
