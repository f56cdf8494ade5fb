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

// joined gives every problem in the order of the file, as one error; nil if
// there is none.
func (d *decoder) joined() error {
	slices.SortStableFunc(d.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(d.problems))
	for i, p := range d.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}
