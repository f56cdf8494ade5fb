package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// boundaryPoints is the number of values of a control in a boundary search.
const boundaryPoints = 41

// BoundarySeeds is the number of seeds for each value.
const BoundarySeeds = 5

// Boundary maps the values of one control to verdicts.
type Boundary struct {
	*Control
	Values []float64 // in order
	Rows   []BoundaryRow
	// Now and Predicted are the indexes of the control's own and of the predicted value; Predicted is -1 without a
	// prediction.
	Now, Predicted int
}

// BoundaryRow is the verdicts on one property.
type BoundaryRow struct {
	Property string
	Verdicts []string // at each value
	Text     string   // the ranges with one verdict, in words
}

// Boundary runs the experiment with values of one control from least to most.
func (e *Experiment) Boundary(ctx context.Context, run suite.Runner, c *Control) (*Boundary, error) {
	found := &Boundary{Control: c, Values: c.values()}
	found.Now = slices.Index(found.Values, c.Number())
	found.Predicted = slices.Index(found.Values, round(c.Predictable))
	saved := c.Value
	defer func() { c.Value = saved }()
	var jobs []suite.Job
	for _, v := range found.Values {
		c.Value = Text(v)
		jobs = append(jobs, e.job())
	}
	trials, err := Run(ctx, run, suite.Options{Trials: BoundarySeeds, Seed: e.Seed}, jobs...)
	if err != nil {
		return nil, err
	}
	for _, p := range e.Properties {
		row := BoundaryRow{Property: p}
		for ofValue := range slices.Chunk(trials, BoundarySeeds) {
			row.Verdicts = append(row.Verdicts, verdict(ofValue, p))
		}
		row.Text = p + ": " + found.ranges(row.Verdicts) + "."
		found.Rows = append(found.Rows, row)
	}
	return found, nil
}

// verdict is the verdict of several trials: it holds if it does in all of them; one violation is enough.
func verdict(trials []suite.Result, property string) string {
	counts := map[string]int{}
	for _, t := range trials {
		for _, r := range t.Results {
			if r.Property == property {
				counts[r.Verdict]++
			}
		}
	}
	switch {
	case counts[history.Violated] > 0:
		return history.Violated
	case counts[history.Holds] == len(trials):
		return history.Holds
	}
	return history.Inconclusive
}

// values are evenly spaced from end to end, plus the control's own and the predicted value.
func (c *Control) values() []float64 {
	all := []float64{c.Number()}
	if c.Predictable > 0 {
		all = append(all, round(c.Predictable))
	}
	for i := range boundaryPoints {
		x := c.Least + float64(i)/(boundaryPoints-1)*(c.Most-c.Least)
		x = c.Least + math.Round((x-c.Least)/c.Step)*c.Step
		all = append(all, round(math.Min(x, c.Most)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ranges describes the ranges of values with one verdict.
func (b *Boundary) ranges(verdicts []string) string {
	var all []string
	for from, i := 0, 0; i < len(verdicts); i++ {
		if i+1 < len(verdicts) && verdicts[i+1] == verdicts[i] {
			continue
		}
		text := fmt.Sprintf("%s from %s to %s %s", verdicts[i], Text(b.Values[from]), Text(b.Values[i]), b.Unit)
		if from == i {
			text = fmt.Sprintf("%s at %s %s", verdicts[i], Text(b.Values[i]), b.Unit)
		}
		all, from = append(all, text), i+1
	}
	return strings.Join(all, "; ")
}
