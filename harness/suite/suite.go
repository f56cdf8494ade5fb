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
		// The trials are judged: a later failure must not prevent their report.
		last := &trials[len(trials)-1]
		last.Failure = strings.TrimPrefix(last.Failure+"\n"+closeErr.Error(), "\n")
	}
	return trials, err
}

// attempted is a task with its result.
type attempted struct {
	task   task
	result Result
}

// finish adds the comparison with the lock's reference, if the trial proves something, and the command that repeats
// it.
func (a *attempted) finish(ctx context.Context, o Options, j Job, run runTask, needsRetry bool) {
	if !needsRetry {
		checkMapped(ctx, run, j, o, &a.result)
		checkReached(ctx, run, j, o, &a.result)
		measureClass(ctx, run, j, o, &a.result)
	} else {
		a.result.undecideViolations()
	}
	if outcome, _ := a.result.Outcome(); outcome != AsExpected && outcome != Skipped {
		a.result.Repeat = o.repeat(j, a.result.Seed)
	}
}

// runAll distributes the trials over o.parallel() goroutines. Trials that need a retry run again alone, after all
// others.
func runAll(ctx context.Context, jobs []Job, o Options, run runTask, observe func(Result)) ([]Result, error) {
	pending, err := o.tasks(jobs)
	if err != nil {
		return nil, err
	}
	var (
		wg            sync.WaitGroup
		mu            sync.Mutex
		done, stalled []attempted
		lost          bool // the cluster: all further trials would fail, too
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
	end := func(a attempted, needsRetry bool) {
		a.finish(ctx, o, jobs[a.task.row], run, needsRetry)
		mu.Lock()
		defer mu.Unlock()
		done, lost = append(done, a), lost || a.result.clusterLost
		observe(a.result)
	}
	for range o.parallel() {
		wg.Go(func() {
			for i, more := next(); more; i, more = next() {
				results[i] = tasks[i].settled(ctx, run)
				if retry := results[i].needsRetry(o); !retry || ctx.Err() != nil {
					end(i, retry)
					continue
				}
				mu.Lock()
				stalled = append(stalled, a)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, a := range stalled {
		retry := true
		if !lost {
			a.result, retry = retryAlone(ctx, o, run, a)
		}
		end(a, retry)
	}
	slices.SortFunc(done, func(a, b attempted) int { return a.task.compare(b.task) })
	trials := make([]Result, len(done))
	for i, a := range done {
		trials[i] = a.result
	}
	return trials, nil
}
