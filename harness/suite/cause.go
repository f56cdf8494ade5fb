package suite

import (
	"context"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
)

// causeTrials bounds the optional experiments about one violation, some 5 ms of processor time each. causeSeeds is
// the number of seeds of each experiment.
const (
	causeTrials = 120
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
			changed := job
			changed.Scenario, changed.Variant, changed.Without = v.Scenario, "", v.Without // with those of the variant
			changed.FaultsUntil, changed.ContextTimeouts, changed.NoRetries = v.FaultsUntil, v.ContextTimeouts, v.NoRetries
			changed.SkipIdleSteps = true
			free := p.slot()
			defer free()
			return judged(p.run(ctx, p.task(changed, seed)), property)
		},
	}, nil
}

// judged is what a trial tells about one property.
func judged(r Result, property string) (j cause.Judged) {
	standing, _ := r.Standing()
	j.AsExpected = standing == AsExpected
	for _, result := range r.Results {
		switch {
		case result.Property != property:
		case result.Verdict == history.Violated:
			j.Verdict, j.At = history.Violated, result.Violations[0].From
		case result.Verdict == history.Holds, result.Cause == checker.Vacuous && result.Unmet == "":
			j.Verdict = result.Verdict
		}
	}
	if r.Failure != "" {
		return cause.Judged{}
	}
	return j
}
