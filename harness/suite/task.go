package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
)

// NewSuffix ends a history's name until its header is written.
const NewSuffix = trial.NewSuffix

// task is all that this process or a child needs to run one trial.
type task struct {
	row  int         // of the suite
	Plan *trial.Plan `json:"plan"` // shared by all trials of the row
	// Result has the fields that are known before the trial.
	Result Result `json:"result"`
	// Root is the output folder, and Path the history's file below it.
	Root string `json:"root"`
	Path string `json:"path"`
	// Events is that of Options.
	Events bool `json:"events"`
}

// attempt runs a task once, in this process or in a child.
type attempt func(context.Context, task) Result

// rowTask plans the trials of a row. Its Result may already be failed or skipped.
func (o Options) rowTask(j Job) task {
	t := task{Root: o.Out, Path: filepath.Join("trials", folderOf(j)), Events: o.Events,
		Result: Result{Scenario: j.Scenario.Name, Variant: j.Variant, Cluster: o.Cluster, Seed: o.Seed,
			AllowBetter: j.AllowBetter}}
	p, err := o.Plan(j)
	if err != nil {
		t.Result.Failure = err.Error()
		return t
	}
	t.Plan = p
	t.Result.Lock, t.Result.Without, t.Result.Expect = p.Lock.Name, p.Without, p.Expect
	t.Result.Skipped, t.Result.Hint = p.Skip(), p.Hint()
	return t
}

// Row is a row's result before its first trial: skipped or failed, with the reason, if it does not run.
func (o Options) Row(j Job) Result { return o.rowTask(j).numbered(0).Result }

// numbered is the task of one trial of the row.
func (t task) numbered(number int) task {
	t.Result.Trial, t.Result.Seed = number, t.Result.Seed+uint64(number)
	t.Path = filepath.Join(t.Path, fmt.Sprintf("%03d", number), "history.jsonl")
	return t
}

// run runs a task unless its result is already failed or skipped: once for each message that its plan asks for.
func (t task) run(ctx context.Context, once attempt) Result {
	switch {
	case t.Result.Failure != "" || t.Result.Skipped != "":
		return t.Result
	case t.Plan.EachMessage() && t.Plan.Job.Changes.Message == 0:
		return t.runEachMessage(ctx, once)
	}
	return once(ctx, t)
}

// runFirst runs the first trial of a row.
func (o Options) runFirst(ctx context.Context, j Job, once attempt) Result {
	return o.rowTask(j).numbered(0).run(ctx, once)
}

// inProcess makes attempts in this process, on clusters of one kind.
type inProcess struct {
	kind  cluster.Kind
	maker cluster.Maker
	// run is trial.Run, or a test's stand-in.
	run func(context.Context, *trial.Plan, cluster.Maker, int, uint64, *trial.Journal) (trial.Observed, error)
	// watch, if not nil, receives the journal of each trial when it begins, and nil when it ends.
	watch func(*trial.Journal)
}

// newInProcess opens the kind's maker of clusters.
func newInProcess(
	ctx context.Context, kind cluster.Kind, choice cluster.Choice, notices io.Writer,
) (*inProcess, error) {
	if notices == nil {
		notices = io.Discard
	}
	maker, err := kind.Open(ctx, choice, notices)
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
	if on := t.Plan.Cluster; on.Name != r.kind.Name { // the reference of a lock's class, in virtual time
		other, err := newInProcess(ctx, on, t.Plan.Choice, nil)
		if err != nil {
			t.Result.Failure = err.Error()
			return t.Result
		}
		return other.attempt(ctx, t)
	}
	began := time.Now()
	defer func() { result.Elapsed = time.Since(began) }()
	result = t.Result
	result.Attempts++
	journal, err := trial.NewJournal(trial.JournalOptions{Root: t.Root, Path: t.Path, Virtual: !r.kind.RealTime()})
	if err != nil {
		result.Failure = err.Error()
		return result
	}
	if r.watch != nil {
		r.watch(journal)
		defer r.watch(nil)
	}
	observed, err := r.run(ctx, t.Plan, r.maker, result.Trial, result.Seed, journal)
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
		result.allowForWaits(t.Plan.Job.Changes.Waits == nil)
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
