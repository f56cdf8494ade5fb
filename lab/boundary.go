package lab

import (
	"context"
	"math"
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// points is how many values of a control a boundary is looked for with.
const points = 41

// BoundarySeeds is with how many seeds each value is tried.
const BoundarySeeds = 5

// Boundary is how the verdicts depend on one control, all else as it stands.
type Boundary struct {
	Number *Number
	Values []float64 // in order
	// Verdicts are, for each property, those at each value.
	Verdicts map[string][]string
}

// Stretch is a range of a control's values with one verdict.
type Stretch struct {
	From, Until float64 // both with the verdict
	Verdict     string
}

// Boundary runs the experiment at values of one control from its least to its
// most.
func (b *Bench) Boundary(ctx context.Context, e *Experiment, n *Number) (*Boundary, error) {
	leave, err := b.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found := &Boundary{Number: n, Values: n.values(), Verdicts: map[string][]string{}}
	now := n.Value
	defer func() { n.Value = now }()
	var jobs []suite.Job
	for _, v := range found.Values {
		n.Value = v
		jobs = append(jobs, e.job())
	}
	trials, err := b.run(ctx, jobs, suite.Options{Trials: BoundarySeeds, Seed: e.Seed})
	if err != nil {
		return nil, err
	}
	for _, p := range e.Properties {
		for ofValue := range slices.Chunk(trials, BoundarySeeds) {
			found.Verdicts[p] = append(found.Verdicts[p], verdict(ofValue, p))
		}
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

// values are where the control is tried: evenly from end to end, or by equal
// factors where the range is wide; its own value and the predicted one are among them.
func (n *Number) values() []float64 {
	var all []float64
	for i := range points {
		share := float64(i) / (points - 1)
		x := n.Least + share*(n.Most-n.Least)
		if n.Least > 0 && n.Most/n.Least > 100 {
			x = n.Least * math.Pow(n.Most/n.Least, share)
		}
		x = n.Least + math.Round((x-n.Least)/n.Step)*n.Step
		all = append(all, math.Min(math.Round(x*1e6)/1e6, n.Most))
	}
	all = append(all, n.Value)
	if n.Predictable > 0 {
		all = append(all, n.Predictable)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Stretches join values beside each other that have one verdict.
func (b *Boundary) Stretches(property string) []Stretch {
	var all []Stretch
	for i, v := range b.Verdicts[property] {
		if n := len(all); n > 0 && all[n-1].Verdict == v {
			all[n-1].Until = b.Values[i]
			continue
		}
		all = append(all, Stretch{b.Values[i], b.Values[i], v})
	}
	return all
}
