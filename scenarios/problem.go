package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/token"
)

// Problem is a mistake in a scenario file: its position, what is wrong, and what is accepted. Lines and columns start
// at 1; columns count characters.
type Problem struct {
	File         string
	Line, Column int
	What, Want   string
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", p.File, p.Line, p.Column, p.What, p.Want)
}

func (d *decoder) report(at *token.Position, what, want string) {
	d.problems = append(d.problems, &Problem{File: d.file, Line: at.Line, Column: at.Column, What: what, Want: want})
}

// maxProblems bounds the problems in one error.
const maxProblems = 50

// joinErrors joins the problems in file order; without any it returns nil.
func (d *decoder) joinErrors() error {
	slices.SortStableFunc(d.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for i, p := range d.problems {
		if i == maxProblems {
			p = &Problem{File: p.File, Line: p.Line, Column: p.Column,
				What: fmt.Sprintf("from here on there are %d more problems", len(d.problems)-i), Want: "fix those above first"}
		}
		if i <= maxProblems {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
