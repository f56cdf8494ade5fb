package suite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// Runner runs jobs: Run, Children.Run, or a test's stand-in.
type Runner func(context.Context, []Job, Options, func(Result)) ([]Result, error)

// Run runs every job for the number of trials that o asks for, some side
// by side, and calls observe once for each trial as it finishes, one call at a
// time. The trials come back in the order of the jobs. When ctx ends, trials
// under way are wound up and judged by what they saw, and the rest is not run; nor
// is it when the cluster is lost.
// It begins by removing what killed runs have left, on every kind of cluster.
// An error means that the harness could not work at all.
func Run(ctx context.Context, jobs []Job, o Options, observe func(Result)) ([]Result, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	sweep(ctx)
	r, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	trials := runAll(ctx, jobs, o, func() executor { return r }, observe)
	lost := slices.ContainsFunc(trials, func(t Result) bool { return t.clusterLost })
	if err := r.maker.Close(); err != nil && len(trials) > 0 && !lost { // what is lost has been told of
		// The trials have been judged: what went wrong after them must not
		// keep anybody from their report.
		last := &trials[len(trials)-1]
		last.Failure = errors.Join(failureOf(last), err).Error()
	}
	return trials, nil
}

func failureOf(t *Result) error {
	if t.Failure == "" {
		return nil
	}
	return errors.New(t.Failure)
}

// executor runs one trial after another.
type executor interface {
	// runReference runs one trial of the reference of a lock's class in virtual time.
	runReference(ctx context.Context, j Job, o Options) Result
	runTrial(ctx context.Context, t ticket) Result
	finish() // there are no more
}

// runAll spreads the trials over as many executors as are to run side by side.
func runAll(ctx context.Context, jobs []Job, o Options, newExecutor func() executor, observe func(Result)) []Result {
	tickets := newQueue(jobs, o.Trials)
	defer context.AfterFunc(ctx, tickets.close)()
	type finished struct {
		ticket
		Result
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		done []finished
	)
	settled := func(t ticket, result Result) {
		if standing, _ := result.Outcome(); standing != AsExpected && standing != Skipped {
			result.Repeat = o.repeat(t.job, result.Seed)
		}
		mu.Lock()
		defer mu.Unlock()
		done = append(done, finished{t, result})
		observe(result)
	}
	for range o.parallel() {
		wg.Go(func() {
			runs := newExecutor()
			defer runs.finish()
			for {
				t, more := tickets.next()
				if !more || ctx.Err() != nil {
					tickets.requeue(t)
					return
				}
				result := runs.runTrial(ctx, t)
				if !result.stalled {
					checkMapped(ctx, runs, t.job, o, &result)
					measureClass(ctx, runs, t.job, o, &result)
				}
				if result.stalled && ctx.Err() == nil {
					tickets.retryAlone(t, result)
					continue
				}
				settled(t, result)
				tickets.done(t)
				if result.clusterLost {
					tickets.close() // all that are still to come would fail alike
				}
			}
		})
	}
	wg.Wait()
	for _, t := range tickets.remaining() { // there was no time to try them again
		settled(t, *t.firstAttempt)
	}
	slices.SortFunc(done, func(a, b finished) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.ticket.trial, b.ticket.trial))
	})
	trials := make([]Result, len(done))
	for i, d := range done {
		trials[i] = d.Result
	}
	return trials
}
