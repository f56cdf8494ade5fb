package validate

import (
	"cmp"
	"context"
	"fmt"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// Tally counts the trials of one point by result.
type Tally struct {
	Held         int `json:"held"`
	Violated     int `json:"violated"`
	Inconclusive int `json:"inconclusive"`
	Failed       int `json:"failed"`
	// Why is the reason of the first trial that decided nothing.
	Why string `json:"why,omitempty"`
	// Histories are the saved files of violations, below the output folder.
	Histories []string `json:"histories,omitempty"`
}

// Decided is the number of trials with a verdict.
func (t Tally) Decided() int { return t.Held + t.Violated }

// undecided returns why the wanted trials give no verdict, "" if they give one.
func (t Tally) undecided(wanted int) string {
	switch {
	case t.Failed > 0:
		return "the harness failed: " + t.Why
	case t.Decided() == 0:
		return "no trial decided: " + t.Why
	case t.Inconclusive > 0:
		return fmt.Sprintf("%d of %d trials decided nothing: %s", t.Inconclusive, t.Decided()+t.Inconclusive, t.Why)
	case t.Decided() < wanted:
		return fmt.Sprintf("cut short after %d of %d trials", t.Decided(), wanted)
	}
	return ""
}

// count adds a trial, by its verdict on mutual exclusion.
func (t *Tally) count(trial suite.Result) {
	if trial.Failure != "" {
		t.Failed++
		t.Why = cmp.Or(t.Why, trial.Failure)
		return
	}
	if trial.Skipped != "" {
		t.Inconclusive++
		t.Why = cmp.Or(t.Why, trial.Skipped)
		return
	}
	for _, r := range trial.Results {
		if r.Property != checker.MutualExclusion {
			continue
		}
		switch r.Verdict {
		case history.Holds:
			t.Held++
		case history.Violated:
			t.Violated++
			if trial.History != "" {
				t.Histories = append(t.Histories, trial.History)
			}
		default:
			t.Inconclusive++
			t.Why = cmp.Or(t.Why, r.Reason)
		}
		return
	}
	t.Inconclusive++
	t.Why = cmp.Or(t.Why, "the trial was cut short")
}

// tally runs and counts trials of each row, all rows in parallel. Job names must be unique.
func (a *Runner) tally(ctx context.Context, trials, rows int,
	job func(row, n int) (suite.Job, error)) ([]Tally, error) {
	counts := make([]Tally, rows)
	for n := 0; n < trials && rows > 0 && ctx.Err() == nil; n++ {
		jobs, indexes := make([]suite.Job, rows), map[string]int{}
		for i := range jobs {
			var err error
			if jobs[i], err = job(i, n); err != nil {
				return nil, err
			}
			indexes[jobs[i].Scenario.Name] = i
		}
		o := suite.Options{Cluster: a.On, Trials: 1, Seed: a.Seed + uint64(n), Retries: suite.DefaultRetries,
			Parallel: a.Parallel, Out: a.Out}
		results, err := a.Suite(ctx, jobs, o, a.Observe)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			a.Failure = cmp.Or(a.Failure, r.Failure)
			counts[indexes[r.Scenario]].count(r)
		}
	}
	return counts, nil
}
