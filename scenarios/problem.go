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
	What, Right  string
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", p.File, p.Line, p.Column, p.What, p.Right)
}

// report adds a problem at a place in the file.
func (d *decoder) report(at *token.Position, what, right string) {
	d.problems = append(d.problems, &Problem{File: d.file, Line: at.Line, Column: at.Column, What: what, Right: right})
}

// mostProblems is how many problems of one file are told.
const mostProblems = 50

// joined gives the problems in the order of the file, as one error; nil if
// there is none.
func (d *decoder) joined() error {
	slices.SortStableFunc(d.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for i, p := range d.problems {
		if i == mostProblems {
			p = &Problem{File: p.File, Line: p.Line, Column: p.Column,
				What: fmt.Sprintf("from here on there are %d more problems", len(d.problems)-i), Right: "mend those above first"}
		}
		if i <= mostProblems {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
