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

// points is how many values of a control a boundary is looked for with.
const points = 41

// BoundarySeeds is with how many seeds each value is tried.
const BoundarySeeds = 5

// Boundary is how the verdicts depend on one control, all else as it stands.
type Boundary struct {
	*Control
	Values []float64 // in order
	Rows   []BoundaryRow
	// Now and Predicted are the places among the values of the control's own and of what is
	// predicted, the latter -1 where nothing is.
	Now, Predicted int
}

// BoundaryRow is the verdicts on one property.
type BoundaryRow struct {
	Property string
	Verdicts []string // at each value
	Text     string   // the ranges with one verdict, in words
}

// Boundary runs the experiment at values of one control from its least to its
// most.
func (e *Experiment) Boundary(ctx context.Context, run suite.Runner, c *Control) (*Boundary, error) {
	found := &Boundary{Control: c, Values: c.values()}
	found.Now = slices.Index(found.Values, c.Number())
	found.Predicted = slices.Index(found.Values, round(c.Predictable))
	now := c.Value
	defer func() { c.Value = now }()
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

// verdict is what several trials say of a property: it holds if it does in all of them,
// and one that violates it is enough.
func verdict(trials []suite.Result, property string) string {
	said := map[string]int{}
	for _, t := range trials {
		for _, r := range t.Results {
			if r.Property == property {
				said[r.Verdict]++
			}
		}
	}
	switch {
	case said[history.Violated] > 0:
		return history.Violated
	case said[history.Holds] == len(trials):
		return history.Holds
	}
	return history.Inconclusive
}

// values are where the control is tried: evenly from end to end; its own value and the
// predicted one are among them.
func (c *Control) values() []float64 {
	all := []float64{c.Number()}
	if c.Predictable > 0 {
		all = append(all, round(c.Predictable))
	}
	for i := range points {
		x := c.Least + float64(i)/(points-1)*(c.Most-c.Least)
		x = c.Least + math.Round((x-c.Least)/c.Step)*c.Step
		all = append(all, round(math.Min(x, c.Most)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ranges says from where to where a verdict is the same.
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
