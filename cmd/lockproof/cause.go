package main

import (
	"context"
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

const maxCauses = 8 // without --cause

// findCauses finds by experiment the cause of the first violation of each row and property, always
// in virtual time. A run on real servers gets the cause of the same schedule there, if virtual time
// violates it too. Without --cause it examines only some unexpected violations in virtual time.
func (p *program) findCauses(ctx context.Context, jobs []suite.Job, trials []suite.Result, o suite.Options) error {
	real := o.Cluster != suite.Virtual
	wanted := func(t suite.Result) bool {
		standing, _ := t.Standing()
		return p.causes || !real && standing == suite.Differs
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
			job := byName[t.Name()]
			if !real { // there it may be another message
				job.Message = t.Message
			}
			c, err := pool.Cause(ctx, job, t.Seed, r.Property)
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
