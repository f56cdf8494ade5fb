package main

import (
	"context"
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// maxCauses is of how many violations the causes are found that nobody has asked for.
const maxCauses = 8

// findCauses finds by experiment what causes the first violation of each row and property,
// always in virtual time. Of a run on real servers a cause is that of the same schedule
// there, if it is violated there, too; and else none is named. Unless all causes are asked
// for, they are found of what differs from what was expected in virtual time, up to a few rows:
// the report tells of these in words.
func (p *program) findCauses(ctx context.Context, jobs []suite.Job, trials []suite.Result, o suite.Options) error {
	real := o.Cluster != suite.Virtual
	wanted := func(t suite.Result) bool {
		outcome, _ := t.Outcome()
		return p.causes || !real && outcome == suite.Differs
	}
	if p.pool == nil || !slices.ContainsFunc(trials, wanted) {
		return nil
	}
	virtual := o
	virtual.Cluster, virtual.Out, virtual.Events, virtual.Worker = suite.Virtual, "", false, nil
	virtual.Server, virtual.Image = "", ""
	pool, err := p.pool(virtual)
	if err != nil {
		return err
	}
	byName := map[string]suite.Job{}
	for _, j := range jobs {
		byName[j.Name()] = j
	}
	done := map[string]bool{}
	for i := range trials {
		t := &trials[i]
		if !wanted(*t) || !p.causes && len(done) >= maxCauses {
			continue
		}
		for _, r := range t.Results {
			key := t.Name() + " " + r.Property
			if r.Verdict != history.Violated || done[key] || ctx.Err() != nil {
				continue
			}
			done[key] = true
			c, err := pool.Cause(ctx, byName[t.Name()], t.Seed, r.Property)
			if err != nil {
				return err
			}
			if real && c.Violated == 0 {
				continue
			}
			c.Virtual = real
			t.Explain(c)
		}
	}
	return nil
}
