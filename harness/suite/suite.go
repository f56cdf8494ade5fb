package suite

import (
	"context"
	"fmt"
	"strings"
)

// Runner runs jobs: Run, Children.Run, or a test's stand-in.
type Runner func(context.Context, []Job, Options, func(Result)) ([]Result, error)

// One runs one trial of a job; an error means that it did not run.
func (run Runner) One(ctx context.Context, j Job, o Options) (Result, error) {
	o.Trials = 1
	trials, err := run(ctx, []Job{j}, o, func(Result) {})
	switch {
	case err != nil:
		return Result{}, err
	case len(trials) == 0:
		return Result{}, fmt.Errorf("the trial was not run: %w", context.Cause(ctx))
	}
	return trials[0], nil
}

// Run runs o.Trials trials of every job, several at a time, and calls observe once for each finished trial, one call
// at a time. It returns the trials in the order of the jobs. When ctx ends, running trials stop early and are judged
// by their events so far, and the rest does not run; nor does it when the cluster is lost. First, Run removes
// leftovers of killed runs on every kind of cluster. An error means that the harness could not run at all.
func Run(ctx context.Context, jobs []Job, o Options, observe func(Result)) ([]Result, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	sweep(ctx)
	r, err := newInProcess(ctx, o)
	if err != nil {
		return nil, err
	}
	p := newPool(o, r.attempt)
	trials, err := p.runAll(ctx, jobs, observe)
	if closeErr := r.maker.Close(); closeErr != nil && len(trials) > 0 && !p.lost.Load() { // a lost cluster was reported
		// The trials are judged: a later failure must not prevent their report.
		last := &trials[len(trials)-1]
		last.Failure = strings.TrimPrefix(last.Failure+"\n"+closeErr.Error(), "\n")
	}
	return trials, err
}
