package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Runner runs jobs: Run, Children.Run, or a test's stand-in.
type Runner func(context.Context, []Job, Options, func(Result)) ([]Result, error)

// One runs one trial of a job; an error means that it was not run.
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

// Run runs every job for the number of trials that o asks for, some side
// by side, and calls observe once for each trial as it finishes, one call at a
// time. The trials come back in the order of the jobs. When ctx ends, trials
// under way are wound up and judged by what they saw, and the rest is not run; nor
// is it when the cluster is lost.
// It begins by removing what killed runs have left, on every kind of cluster.
// An error means that the harness could not work at all.
func Run(ctx context.Context, jobs []Job, o Options, observe func(Result)) ([]Result, error) {
	kind, err := o.validate()
	if err != nil {
		return nil, err
	}
	sweep(ctx)
	r, err := newRunner(ctx, kind, o.choice(), o.Notices)
	if err != nil {
		return nil, err
	}
	trials, err := runAll(ctx, jobs, o, r.runTask, observe)
	lost := slices.ContainsFunc(trials, func(t Result) bool { return t.clusterLost })
	if closeErr := r.maker.Close(); closeErr != nil && len(trials) > 0 && !lost { // a lost cluster was reported
		// The trials have been judged: what went wrong after them must not
		// keep anybody from their report.
		last := &trials[len(trials)-1]
		last.Failure = strings.TrimPrefix(last.Failure+"\n"+closeErr.Error(), "\n")
	}
	return trials, err
}

// attempted is a trial that was run, and what came of it.
type attempted struct {
	task   task
	result Result
}

// settle adds to a trial what is known of its lock's class, unless it proves nothing, and how it is repeated.
func (a *attempted) settle(ctx context.Context, o Options, j Job, run runTask, provesNothing bool) {
	if !provesNothing {
		checkMapped(ctx, run, j, o, &a.result)
		measureClass(ctx, run, j, o, &a.result)
	} else {
		a.result.withdraw()
	}
	if outcome, _ := a.result.Outcome(); outcome != AsExpected && outcome != Skipped {
		a.result.Repeat = o.repeat(j, a.result.Seed)
	}
}

// runAll spreads the trials over as many goroutines as are to run side by side. A trial that proves nothing beside
// others is run again when those are done, alone.
func runAll(ctx context.Context, jobs []Job, o Options, run runTask, observe func(Result)) ([]Result, error) {
	pending, err := o.tasks(jobs)
	if err != nil {
		return nil, err
	}
	var (
		wg         sync.WaitGroup
		mu         sync.Mutex
		done, held []attempted
		lost       bool // the cluster: all that are still to come would fail alike
	)
	next := func() (t task, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if lost || len(pending) == 0 || ctx.Err() != nil {
			return t, false
		}
		t, pending = pending[0], pending[1:]
		return t, true
	}
	end := func(a attempted, provesNothing bool) {
		a.settle(ctx, o, jobs[a.task.row], run, provesNothing)
		mu.Lock()
		defer mu.Unlock()
		done, lost = append(done, a), lost || a.result.clusterLost
		observe(a.result)
	}
	for range o.parallel() {
		wg.Go(func() {
			for t, more := next(); more; t, more = next() {
				a := attempted{t, t.run(ctx, run)}
				if again := a.result.provesNothing(o); !again || ctx.Err() != nil {
					end(a, again)
					continue
				}
				mu.Lock()
				held = append(held, a)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, a := range held {
		again := true
		if !lost {
			a.result, again = retryAlone(ctx, o, run, a)
		}
		end(a, again)
	}
	slices.SortFunc(done, func(a, b attempted) int { return a.task.compare(b.task) })
	trials := make([]Result, len(done))
	for i, a := range done {
		trials[i] = a.result
	}
	return trials, nil
}
