package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/kinds"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
)

// NewSuffix is at the end of a history's name while its header is being written.
const NewSuffix = trial.NewSuffix

// runner runs the trials of one suite in this process.
type runner struct {
	options Options
	maker   cluster.Maker
	// run is trial.Run, or a test's stand-in.
	run func(context.Context, *trial.Plan, cluster.Maker, int, uint64, *trial.Journal) (trial.Observed, error)
	// progress takes how far a trial has got; nil: nobody looks.
	progress *trial.Progress
}

// newRunner gets ready what the clusters share; or it says what they lack.
func newRunner(ctx context.Context, o Options) (*runner, error) {
	kind, err := kinds.Find(o.Cluster)
	if err != nil {
		return nil, err
	}
	notices := o.Notices
	if notices == nil {
		notices = io.Discard
	}
	choice := cluster.Choice{Server: o.Server, Image: o.Image, Worker: o.Worker}
	if lock, err := locks.Find(o.Lock); err == nil {
		choice.External = lock.Program
	}
	maker, err := kind.Open(ctx, choice, notices)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the run was interrupted before the cluster was ready: %w", ctx.Err()) // whatever else it broke
	}
	if err != nil {
		return nil, err
	}
	return &runner{options: o, maker: maker, run: trial.Run}, nil
}

// finish does nothing: what the clusters share ends with the suite.
func (r *runner) finish() {}

// prepare settles what a ticket is for; it is not ready if the trial has failed
// or been skipped by that.
func (o Options) prepare(t ticket) (p *trial.Plan, result Result, ready bool) {
	result = Result{
		Scenario: t.job.Scenario.Name, Variant: t.job.Variant, Cluster: o.Cluster, Trial: t.trial,
		Seed: o.Seed + uint64(t.trial), AllowBetter: t.job.AllowBetter,
	}
	p, err := o.newPlan(t.job)
	if err != nil {
		result.Failure = err.Error()
		return nil, result, false
	}
	result.Lock, result.Without, result.Expect = p.Lock.Name, p.Without, p.Expect
	result.Skipped, result.Hint = p.Skip(), ""
	if result.Skipped != "" {
		result.Hint = p.Hint()
	}
	return p, result, result.Skipped == ""
}

// runReference runs a trial in this process.
func (r *runner) runReference(ctx context.Context, j Job, o Options) Result {
	other, err := newRunner(ctx, o)
	if err != nil {
		return Result{Failure: err.Error()}
	}
	defer other.maker.Close()
	return other.runTrial(ctx, ticket{job: j})
}

// runTrial runs one trial. One that proves nothing is to be tried again, when no other runs
// beside it; then it is, as often as the options say.
func (r *runner) runTrial(ctx context.Context, t ticket) Result {
	began := time.Now()
	p, result, ready := r.options.prepare(t)
	if !ready {
		return result
	}
	var spent time.Duration
	if t.firstAttempt != nil {
		result.Attempts, spent = t.firstAttempt.Attempts, t.firstAttempt.Elapsed
	}
	for {
		result.Attempts++
		r.attempt(ctx, t.job, p, &result)
		result.stalled = r.provesNothing(t, result)
		if !result.stalled && t.firstAttempt != nil {
			result.doubt(*t.firstAttempt)
		}
		if !result.stalled || t.firstAttempt == nil || ctx.Err() != nil {
			result.Elapsed = spent + time.Since(began)
			return result
		}
	}
}

// attempt runs a trial once, judges it, and keeps its history if that is worth it.
func (r *runner) attempt(ctx context.Context, job Job, p *trial.Plan, result *Result) {
	result.Results, result.Failure, result.Skipped, result.History, result.Events, result.timedOut = nil, "", "", "", nil,
		false
	journal, err := r.journal(job, result.Trial)
	if err != nil {
		result.Failure = err.Error()
		return
	}
	shown, err := r.run(ctx, p, r.maker, result.Trial, result.Seed, journal)
	result.Server, result.Abilities, result.Waits = shown.Server, shown.Lock, shown.Waits
	endErr := journal.End()
	result.Simulated = journal.Length()
	switch refusal, refused := errors.AsType[*locks.Error](err); {
	case refused && refusal.Reason == history.ReasonRefused:
		result.Skipped = fmt.Sprintf("%s refuses this setup: %v", result.Lock, refusal)
	case err != nil && ctx.Err() == nil:
		result.Failure = err.Error()
		var lost *cluster.Lost
		result.clusterLost = errors.As(err, &lost)
		result.timedOut = kinds.RealTime(r.options.Cluster) &&
			(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded))
	case err != nil && !journal.HasHeader():
		// It was called off before it had a cluster: there is nothing to judge.
	default:
		if result.Results, err = trial.Judge(journal); err != nil {
			result.Failure = err.Error()
		}
		result.allowForWaits(p.Settings.Changes.Waits == nil)
	}
	if endErr != nil && result.Failure == "" {
		result.Failure = endErr.Error()
	}
	if r.options.Events {
		result.Events = journal.ShortHistory()
	}
	if r.options.VerdictsOnly {
		result.dropDetails()
	}
	result.History = journal.KeepOrRemove(result.Skipped == "" && worthKeeping(*result))
}

// journal makes the journal of one attempt at a row's trial; without an output
// folder it has no file.
func (r *runner) journal(job Job, number int) (*trial.Journal, error) {
	return trial.NewJournal(trial.JournalOptions{
		Root: r.options.Out, Path: filepath.Join("trials", job.folder(), fmt.Sprintf("%03d", number), "history.jsonl"),
		Virtual: !kinds.RealTime(r.options.Cluster), Progress: r.progress,
	})
}
