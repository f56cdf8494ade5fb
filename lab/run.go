package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/scenarios"
)

// Result is the result of an experiment.
type Result struct {
	Trial suite.Result // with events
	// Verdicts are on the scenario's properties and on other violated ones.
	Verdicts []checker.Result
}

// Write writes the trial's history in the same order as lockproof run.
func (o *Result) Write(w io.Writer) error {
	events := history.NewWriter(w)
	for _, e := range o.Trial.Events {
		events.Write(e)
	}
	return events.Close()
}

// Run runs an experiment once.
func (e *Experiment) Run(ctx context.Context, run suite.Runner) (*Result, error) {
	trial, err := One(ctx, run, e.job(), e.Seed, true)
	if err != nil {
		return nil, err
	}
	o := &Result{Trial: trial}
	if len(o.Trial.Events) == 0 {
		return nil, errTooManyEvents
	}
	for _, r := range o.Trial.Results {
		if slices.Contains(e.Properties, r.Property) || r.Verdict == history.Violated {
			o.Verdicts = append(o.Verdicts, r)
		}
	}
	return o, nil
}

var errTooManyEvents = errors.New("it makes more events than can be shown: fewer clients, a shorter workload, or " +
	"longer holds make fewer")

// Run runs jobs in virtual time, all or none: an aborted trial does not answer the reader's question. It uses the
// number of trials, the seed and Events of the options.
func Run(ctx context.Context, run suite.Runner, o suite.Options, jobs ...suite.Job) ([]suite.Result, error) {
	o.Cluster, o.Parallel = suite.Virtual, 1
	trials, err := run(ctx, jobs, o, func(suite.Result) {})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, t := range trials {
		if why := cmp.Or(t.Failure, t.Skipped); why != "" {
			return nil, errors.New(why)
		}
	}
	return trials, nil
}

// One runs one trial of a job in virtual time; with events its result has the history.
func One(ctx context.Context, run suite.Runner, job suite.Job, seed uint64, events bool) (suite.Result, error) {
	trials, err := Run(ctx, run, suite.Options{Trials: 1, Seed: seed, Events: events}, job)
	if err != nil {
		return suite.Result{}, err
	}
	return trials[0], nil
}

// Catalogue lists the scenarios that run in virtual time.
func Catalogue() ([]*scenarios.Scenario, error) {
	all, err := scenarios.Catalogue()
	if err != nil {
		return nil, err
	}
	var fit []*scenarios.Scenario
	for _, s := range all {
		p, err := suite.Options{Cluster: suite.Virtual}.Plan(suite.Job{Scenario: s})
		if err != nil {
			return nil, err
		}
		if p.Skip() == "" {
			fit = append(fit, s)
		}
	}
	return fit, nil
}

// Find finds a scenario of the lab by its name.
func Find(name string) (*scenarios.Scenario, error) {
	all, err := Catalogue()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no scenario %q that virtual time can run", name)
}
