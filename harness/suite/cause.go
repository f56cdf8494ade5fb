package suite

import (
	"context"
	"time"

	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/trial"
)

// causeTrials bounds the optional experiments about one violation, some 5 ms of processor time each. causeSeeds is
// the number of seeds of each experiment.
const (
	causeTrials = 60
	causeTime   = 5 * time.Second
	causeSeeds  = 5
)

// Cause finds by experiments in virtual time why a trial violates a property.
func (p *Pool) Cause(ctx context.Context, job Job, seed uint64, property string) (cause.Cause, error) {
	f, err := p.finder(job, seed, property)
	if err != nil {
		return cause.Cause{}, err
	}
	f.Seeds, f.MaxTrials, f.Time = causeSeeds, causeTrials, causeTime
	return f.Find(ctx), nil
}

// FaultKinds returns the kinds of the faults that a violation needs.
func (p *Pool) FaultKinds(ctx context.Context, job Job, seed uint64, property string) ([]string, error) {
	f, err := p.finder(job, seed, property)
	if err != nil {
		return nil, err
	}
	return f.KindsOf(ctx), nil
}

func (p *Pool) finder(job Job, seed uint64, property string) (*cause.Finder, error) {
	plan, err := p.options.Plan(job)
	if err != nil {
		return nil, err
	}
	return &cause.Finder{
		Scenario: plan.Scenario, Without: plan.Without, Property: property, Seed: seed, Options: plan.Lock.External,
		Trial: func(ctx context.Context, v cause.Variation, seed uint64) cause.Judged {
			changed := Job{Scenario: v.Scenario, AllowBetter: job.AllowBetter, Lock: job.Lock, Without: v.Without,
				Changes: trial.Changes{
					FaultsUntil: v.FaultsUntil, ContextTimeouts: v.ContextTimeouts, NoRetries: v.NoRetries, Waits: job.Changes.Waits,
					Message: job.Changes.Message,
				}}
			return judged(p.try(ctx, changed, seed, task.run), property)
		},
	}, nil
}

// judged is the verdict of a trial on one property.
func judged(r Result, property string) cause.Judged {
	o := cause.Judged{Verdict: r.verdict(property)}
	for _, result := range r.Results {
		if result.Property == property && o.Verdict == history.Violated && len(result.Violations) > 0 {
			o.At = result.Violations[0].From
		}
	}
	return o
}
