package reports

import (
	"strings"

	"lockproof/harness/suite"
)

// Skip is a reason, and the rows that were skipped for it.
type Skip struct {
	Why   string
	Names []string
}

// Skips gathers the rows that were skipped by their reasons, in the order in
// which these come first.
func (r *Report) Skips() []Skip {
	var skips skips
	for _, row := range r.Rows {
		if row.Standing == suite.Skipped {
			skips.add(row.Why, row.Name())
		}
	}
	return skips
}

type skips []Skip

func (s *skips) add(why, name string) {
	for i := range *s {
		if (*s)[i].Why == why {
			(*s)[i].Names = append((*s)[i].Names, name)
			return
		}
	}
	*s = append(*s, Skip{why, []string{name}})
}

// text tells each reason once, behind a word or two, and below it its rows.
func (s skips) text(heading string, screen Screen) string {
	var b strings.Builder
	for _, skip := range s {
		names := make([]string, len(skip.Names))
		for i, name := range skip.Names {
			names[i] = whole(clean(name))
		}
		lines := append(hanging(heading, clean(skip.Why), screen.Width), hanging("  ", strings.Join(names, ", "), screen.Width)...)
		b.WriteString(strings.Join(lines, "\n") + "\n\n")
	}
	return b.String()
}
