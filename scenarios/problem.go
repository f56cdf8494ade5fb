package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/token"
)

// Problem is one thing that is wrong with a scenario file: where, what, and
// what would be right. Lines and columns count from 1; columns count
// characters.
type Problem struct {
	File         string
	Line, Column int
	What, Want   string
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", p.File, p.Line, p.Column, p.What, p.Want)
}

// report adds a problem at a place in the file.
func (d *decoder) report(at *token.Position, what, right string) {
	d.problems = append(d.problems, &Problem{File: d.file, Line: at.Line, Column: at.Column, What: what, Want: right})
}

// maxProblems is how many problems of one file are told.
const maxProblems = 50

// joinErrors gives the problems in the order of the file, as one error; nil if
// there is none.
func (d *decoder) joinErrors() error {
	slices.SortStableFunc(d.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for i, p := range d.problems {
		if i == maxProblems {
			p = &Problem{File: p.File, Line: p.Line, Column: p.Column,
				What: fmt.Sprintf("from here on there are %d more problems", len(d.problems)-i), Want: "mend those above first"}
		}
		if i <= maxProblems {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
