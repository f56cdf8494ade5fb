package suite

import (
	"fmt"
	"path/filepath"

	"example.org/lockproof/harness/trial"
)

// NewSuffix ends a history's name until its header is written.
const NewSuffix = trial.NewSuffix

// task is all that this process or a child needs to run one trial.
type task struct {
	Job     Job     `json:"job"`
	Options Options `json:"options"`
	// Root is the output folder, and Path the history's file below it.
	Root string `json:"root"`
	Path string `json:"path"`
	// Events is that of Options.
	Events bool `json:"events"`
	// Result has the fields that are known before the trial.
	Result Result `json:"result"`

	eachMessage bool // the trial needs an attempt for each message of an operation
}

// row lists the trials of a job, at least one. Their results may already be failed or skipped.
func (o Options) row(j Job) []task {
	t := task{Job: j, Options: o, Root: o.Out, Events: o.Events,
		Result: Result{Scenario: j.Scenario.Name, Variant: j.Variant, Cluster: o.Cluster, AllowBetter: j.AllowBetter}}
	if p, err := o.Plan(j); err != nil {
		t.Result.Failure = err.Error()
	} else {
		t.Result.Lock, t.Result.Without, t.Result.Expect = p.Lock.Name, p.Without, p.Expect
		t.Result.Skipped, t.Result.Hint = p.Skip(), p.Hint()
		t.eachMessage = p.EachMessage() && j.Message == 0
	}
	row, folder := make([]task, max(o.Trials, 1)), folderOf(j)
	for i := range row {
		t.Result.Trial, t.Result.Seed = i, o.Seed+uint64(i)
		t.Path = filepath.Join("trials", folder, fmt.Sprintf("%03d", i), "history.jsonl")
		row[i] = t
	}
	return row
}

// Row is a row's result before its first trial: skipped or failed, with the reason, if it does not run.
func (o Options) Row(j Job) Result { return o.row(j)[0].Result }
