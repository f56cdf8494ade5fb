package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockproof/checker"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/kinds"
	"lockproof/harness/history"
	"lockproof/harness/locks"
)

// DefaultRetries is how often a stalled trial is tried again unless Options say
// otherwise.
const DefaultRetries = 5

// Runner runs jobs: Run, Children.Run, or a test's stand-in.
type Runner func(context.Context, []Job, Options, func(Trial)) ([]Trial, error)

// Run runs every job for the number of trials that o asks for, some side
// by side, and calls observe once for each trial as it finishes, one call at a
// time. The trials come back in the order of the jobs. When ctx ends, trials
// under way are wound up and judged by what they saw, and the rest is not run; nor
// is it when the cluster is lost.
// It begins by removing what killed runs have left, on every kind of cluster.
// An error means that the harness could not work at all.
func Run(ctx context.Context, jobs []Job, o Options, observe func(Trial)) ([]Trial, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	sweep(ctx)
	open, done, err := o.opener(ctx)
	if err != nil {
		return nil, err
	}
	memory := beFrugal()
	defer memory.end()
	if !kinds.RealTime(o.Cluster) {
		loadBallast()
	}
	trials := o.run(ctx, jobs, open, func(t Trial) {
		memory.allow()
		observe(t)
	})
	lost := slices.ContainsFunc(trials, func(t Trial) bool { return t.lost })
	if err := done(); err != nil && len(trials) > 0 && !lost { // what is lost has been told of
		// The trials have been judged: what went wrong after them must not
		// keep anybody from their report.
		last := &trials[len(trials)-1]
		last.Failure = errors.Join(failureOf(last), err).Error()
	}
	return trials, nil
}

func failureOf(t *Trial) error {
	if t.Failure == "" {
		return nil
	}
	return errors.New(t.Failure)
}

// run is Run on clusters of open's.
func (o Options) run(ctx context.Context, jobs []Job, open opener, observe func(Trial)) []Trial {
	return o.spread(ctx, jobs, func() hand { return &ownHand{o, open} }, observe)
}

// hand runs one trial after another.
type hand interface {
	try(ctx context.Context, t ticket) Trial
	leave() // there are no more
}

// ownHand runs them in this process.
type ownHand struct {
	Options
	open opener
}

func (h *ownHand) try(ctx context.Context, t ticket) Trial { return h.Options.try(ctx, h.open, t) }
func (h *ownHand) leave()                                  {}

// spread spreads the trials over as many hands as are to work side by side.
func (o Options) spread(ctx context.Context, jobs []Job, hire func() hand, observe func(Trial)) []Trial {
	tickets := o.queue(jobs)
	defer context.AfterFunc(ctx, tickets.empty)()
	type finished struct {
		ticket
		Trial
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		done []finished
	)
	for range o.parallel() {
		wg.Add(1)
		go func() {
			defer wg.Done()
			worker := hire()
			defer worker.leave()
			for {
				t, more := tickets.next()
				if !more || ctx.Err() != nil {
					return
				}
				result := worker.try(ctx, t)
				tickets.done(t)
				if result.lost {
					tickets.empty() // all that are still to come would fail alike
				}
				mu.Lock()
				done = append(done, finished{t, result})
				observe(result)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	slices.SortFunc(done, func(a, b finished) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.ticket.trial, b.ticket.trial))
	})
	trials := make([]Trial, len(done))
	for i, d := range done {
		trials[i] = d.Trial
	}
	return trials
}

func (o Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	kind, err := kinds.Find(o.Cluster)
	if err != nil {
		return 1
	}
	return kind.Parallel()
}

// prepare settles what a ticket is for; it is not ready if the trial has failed
// or been skipped by that.
func (o Options) prepare(t ticket) (p *plan, trial Trial, ready bool) {
	trial = Trial{
		Scenario: t.job.Scenario.Name, Variant: t.job.Variant, Cluster: o.Cluster, Trial: t.trial,
		Seed: o.Seed + uint64(t.trial), Lenient: t.job.Lenient,
	}
	p, err := o.settle(t.job)
	if err != nil {
		trial.Failure = err.Error()
		return nil, trial, false
	}
	trial.Lock, trial.Without, trial.Expect = p.lock.Name, p.without, p.expect
	trial.Skipped = p.skip()
	return p, trial, trial.Skipped == ""
}

// try runs one trial, again if the harness was held up while it ran.
func (o Options) try(ctx context.Context, open opener, t ticket) Trial {
	began := time.Now()
	p, trial, ready := o.prepare(t)
	if !ready {
		return trial
	}
	for trial.Attempts = 1; ; trial.Attempts++ {
		o.attempt(ctx, open, p, &trial)
		if !stalled(trial.Results) || trial.Attempts > o.Retries || ctx.Err() != nil {
			trial.Elapsed = time.Since(began)
			return trial
		}
	}
}

// one runs one trial as try does, with whatever its clusters share.
func (o Options) one(ctx context.Context, t ticket) Trial {
	open, done, err := o.opener(ctx)
	if err == nil {
		trial := o.try(ctx, open, t)
		err = done()
		if err == nil {
			return trial
		}
	}
	_, trial, _ := o.prepare(t)
	trial.Failure = err.Error()
	return trial
}

// attempt runs a trial once and judges it.
func (o Options) attempt(ctx context.Context, open opener, p *plan, trial *Trial) {
	trial.Results, trial.Failure, trial.Skipped, trial.History, trial.Events = nil, "", "", "", nil
	journal, err := o.journal(p.Job, trial.Trial)
	if err != nil {
		trial.Failure = err.Error()
		return
	}
	err = open(ctx, p, trial, journal)
	endErr := journal.end()
	o.pulse.judge(true)
	defer o.pulse.judge(false)
	trial.Simulated = journal.length()
	switch refusal, refused := errors.AsType[*locks.Error](err); {
	case refused && refusal.Reason == history.ReasonRefused:
		trial.Skipped = fmt.Sprintf("%s refuses to be set up so: %v", trial.Lock, refusal)
	case err != nil && ctx.Err() == nil:
		trial.Failure = err.Error()
		var lost *cluster.Lost
		trial.lost = errors.As(err, &lost)
	case err != nil && !journal.begun():
		// It was called off before it had a cluster: there is nothing to judge.
	default:
		if trial.Results, err = judgeJournal(journal); err != nil {
			trial.Failure = err.Error()
		}
	}
	if endErr != nil && trial.Failure == "" {
		trial.Failure = endErr.Error()
	}
	if o.Events {
		trial.Events = journal.few()
	}
	trial.History = journal.settle(trial.Skipped == "" && worthKeeping(*trial))
}

func judgeJournal(j *journal) ([]checker.Result, error) {
	source, err := j.source()
	if err != nil {
		return nil, err
	}
	h, err := checker.Read(source)
	if err != nil {
		return nil, err
	}
	verdict, err := h.Verdict()
	return verdict.Results, err
}

func stalled(results []checker.Result) bool {
	return slices.ContainsFunc(results, func(r checker.Result) bool { return r.Cause == checker.Stalled })
}
