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
	r, err := newInProcess(ctx, kind, o.choice(), o.Notices)
	if err != nil {
		return nil, err
	}
	trials, err := runAll(ctx, jobs, o, r.attempt, observe)
	lost := slices.ContainsFunc(trials, func(t Result) bool { return t.clusterLost })
	if closeErr := r.maker.Close(); closeErr != nil && len(trials) > 0 && !lost { // a lost cluster was reported
		// The trials are judged: a later failure must not prevent their report.
		last := &trials[len(trials)-1]
		last.Failure = strings.TrimPrefix(last.Failure+"\n"+closeErr.Error(), "\n")
	}
	return trials, err
}

// conclude adds the comparison with the reference of the lock's class, if the trial proves something, and the command
// that repeats it.
func (t *Result) conclude(ctx context.Context, o Options, j Job, once attempt, needsRetry bool) {
	if needsRetry {
		t.undecideViolations()
	} else {
		t.compareWithClass(j, o.reference(ctx, once, t.Seed))
	}
	if standing, _ := t.Standing(); standing != AsExpected && standing != Skipped {
		t.Repeat = o.repeat(j, t.Seed)
	}
}

// runAll distributes the trials over o.parallel() goroutines. Trials that need a retry run again alone, after all
// others.
func runAll(ctx context.Context, jobs []Job, o Options, once attempt, observe func(Result)) ([]Result, error) {
	tasks, err := o.tasks(jobs)
	if err != nil {
		return nil, err
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		begun   int                          // tasks
		results = make([]Result, len(tasks)) // of the latest attempts
		done    = make([]bool, len(tasks))   // no further attempt
		stalled []int                        // tasks to run again
		lost    bool                         // the cluster: all further trials would fail, too
	)
	next := func() (i int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if lost || begun == len(tasks) || ctx.Err() != nil {
			return 0, false
		}
		begun++
		return begun - 1, true
	}
	end := func(i int, needsRetry bool) {
		results[i].conclude(ctx, o, jobs[tasks[i].row], once, needsRetry)
		mu.Lock()
		defer mu.Unlock()
		done[i], lost = true, lost || results[i].clusterLost
		observe(results[i])
	}
	for range o.parallel() {
		wg.Go(func() {
			for i, more := next(); more; i, more = next() {
				results[i] = tasks[i].settled(ctx, once)
				if retry := results[i].needsRetry(o); !retry || ctx.Err() != nil {
					end(i, retry)
					continue
				}
				mu.Lock()
				stalled = append(stalled, i)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, i := range stalled {
		retry := true
		if !lost {
			results[i], retry = retryAlone(ctx, o, once, tasks[i], results[i])
		}
		end(i, retry)
	}
	var trials []Result
	for i, t := range results {
		if done[i] {
			trials = append(trials, t)
		}
	}
	return trials, nil
}
