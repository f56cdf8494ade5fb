package suite

import (
	"context"
	"sync"
	"sync/atomic"
)

// Pool runs trials, a bounded number at a time, in this process or in children. A trial is one attempt at its task, or
// several: for each message of an operation (run), with other waits of goroutines (settled), or alone, since the
// machine was too slow (confirmed).
type Pool struct {
	options Options
	// attempt runs a task once: inProcess.attempt or Children.attempt.
	attempt func(context.Context, task) Result
	slots   chan struct{} // one for each running trial
	lost    atomic.Bool   // the cluster: all further trials would fail, too
}

func newPool(o Options, attempt func(context.Context, task) Result) *Pool {
	return &Pool{options: o, attempt: attempt, slots: make(chan struct{}, o.parallel())}
}

// Size is the number of trials that run at a time.
func (p *Pool) Size() int { return cap(p.slots) }

// runAll runs all trials of the jobs. Those that need a retry are confirmed last, when nothing else runs.
func (p *Pool) runAll(ctx context.Context, jobs []Job, observe func(Result)) ([]Result, error) {
	tasks, err := p.options.tasks(jobs)
	if err != nil {
		return nil, err
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		begun   int // tasks
		results = make([]Result, len(tasks))
		last    []int // tasks to confirm last
	)
	finish := func(i int) {
		t := p.confirmed(ctx, tasks[i], results[i])
		if standing, _ := t.Standing(); standing != AsExpected && standing != Skipped {
			t.Repeat = p.options.repeat(tasks[i].Job, t.Seed)
		}
		results[i] = t
		mu.Lock()
		defer mu.Unlock()
		observe(t)
	}
	for i := range tasks {
		free := p.slot()
		if p.stopped(ctx) {
			free()
			break
		}
		begun++
		wg.Go(func() {
			defer free()
			if results[i] = p.settled(ctx, tasks[i]); !results[i].needsRetry(p.options) {
				finish(i)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			last = append(last, i)
		})
	}
	wg.Wait()
	for _, i := range last {
		finish(i)
	}
	return results[:begun], nil
}

// stopped reports whether no further attempt may begin.
func (p *Pool) stopped(ctx context.Context) bool { return p.lost.Load() || ctx.Err() != nil }

// Try runs one trial of a job as soon as a slot is free.
func (p *Pool) Try(ctx context.Context, job Job, seed uint64) Result {
	free := p.slot()
	defer free()
	return p.settled(ctx, p.task(job, seed))
}

// slot waits for a free slot.
func (p *Pool) slot() (free func()) {
	p.slots <- struct{}{}
	return func() { <-p.slots }
}

// task is a trial of a job with a seed.
func (p *Pool) task(job Job, seed uint64) task {
	o := p.options
	o.Seed, o.Trials = seed, 1
	return o.row(job)[0]
}

// run runs a task unless its result is already failed or skipped: once, or once for each message of an operation.
func (p *Pool) run(ctx context.Context, t task) Result {
	switch {
	case t.Result.Failure != "" || t.Result.Skipped != "":
		return t.Result
	case t.eachMessage:
		return p.runEachMessage(ctx, t)
	}
	return p.attempt(ctx, t)
}
