package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
)

// inProcess makes attempts in this process, on clusters of one kind.
type inProcess struct {
	kind  cluster.Kind
	maker cluster.Maker
	// run is trial.Run, or a test's stand-in.
	run func(context.Context, *trial.Plan, cluster.Maker, int, uint64, *trial.Journal) (trial.Observed, error)
	// watch, if not nil, receives the journal of each trial when it begins, and nil when it ends.
	watch func(*trial.Journal)
}

// newInProcess opens the maker of the options' clusters.
func newInProcess(ctx context.Context, o Options) (*inProcess, error) {
	kind, err := cluster.Find(o.Cluster)
	if err != nil {
		return nil, err
	}
	if o.Notices == nil {
		o.Notices = io.Discard
	}
	maker, err := kind.Open(ctx, o.choice(), o.Notices)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the run was interrupted before the cluster was ready: %w", ctx.Err()) // err is a consequence
	}
	if err != nil {
		return nil, err
	}
	return &inProcess{kind: kind, maker: maker, run: trial.Run}, nil
}

// attempt runs a trial, judges it, and keeps its history if worthKeeping.
func (r *inProcess) attempt(ctx context.Context, t task) (result Result) {
	if t.Options.Cluster != r.kind.Name { // in a child, or for the reference of a lock's class in virtual time
		other, err := newInProcess(ctx, t.Options)
		if err != nil {
			t.Result.Failure = err.Error()
			return t.Result
		}
		other.watch = r.watch
		r = other
	}
	began := time.Now()
	defer func() { result.Elapsed = time.Since(began) }()
	result = t.Result
	result.Attempts++
	plan, err := t.Options.Plan(t.Job)
	if err != nil {
		result.Failure = err.Error()
		return result
	}
	journal, err := trial.NewJournal(trial.JournalOptions{Root: t.Root, Path: t.Path, Virtual: !r.kind.RealTime()})
	if err != nil {
		result.Failure = err.Error()
		return result
	}
	if r.watch != nil {
		r.watch(journal)
		defer r.watch(nil)
	}
	observed, err := r.run(ctx, plan, r.maker, result.Trial, result.Seed, journal)
	result.Server, result.Abilities, result.Waits = observed.Server, observed.Lock, observed.Waits
	result.pastLast = observed.PastLastMessage
	endErr := journal.End()
	result.Simulated = time.Duration(journal.Position().Time)
	switch refusal, refused := errors.AsType[*locks.Error](err); {
	case refused && refusal.Reason == history.ReasonRefused:
		result.Skipped = fmt.Sprintf("%s refuses this setup: %v", result.Lock, refusal)
	case err != nil && ctx.Err() == nil:
		result.Failure = err.Error()
		_, result.clusterLost = errors.AsType[*cluster.Lost](err)
		result.timedOut = r.kind.RealTime() &&
			(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded))
	case err != nil && !journal.HasHeader():
		// Cancelled before it had a cluster: nothing to judge.
	default:
		if result.Results, err = trial.Judge(journal); err != nil {
			result.Failure = err.Error()
		}
		result.allowForWaits(t.Job.Waits == nil)
	}
	var eventsErr error
	if t.Events {
		result.Events, eventsErr = journal.ShortHistory()
	}
	result.History, err = journal.KeepOrRemove(result.Skipped == "" && worthKeeping(result))
	if err = cmp.Or(endErr, eventsErr, err); err != nil && result.Failure == "" {
		result.Failure = err.Error()
	}
	return result
}
