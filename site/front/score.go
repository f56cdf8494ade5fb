package front

import (
	"context"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// known is a lock that many people use, and that runs in virtual time; row is where it
// stands on the page of the locks.
const (
	known = "redsync"
	row   = "go-redsync-redsync"
)

// Score is what came of a lock that people use, over the whole catalogue.
type Score struct {
	Lock, Anchor               string
	Holds, Bugs, Limits, Other int // situations; a limit is what no lock of its class survives
}

// All is how many situations apply to it.
func (s Score) All() int { return s.Holds + s.Bugs + s.Limits + s.Other }

// Judge runs the catalogue with a lock that people use.
func Judge(ctx context.Context, run suite.Runner) (Score, error) {
	score := Score{Lock: known, Anchor: row}
	all, err := scenarios.Catalogue()
	if err != nil {
		return score, err
	}
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Lock: known}
	jobs, err := o.Jobs(all)
	if err != nil {
		return score, err
	}
	trials, err := run(ctx, jobs, o, func(suite.Result) {})
	if err != nil {
		return score, err
	}
	for _, g := range reports.New(trials, reports.Run{Options: o}).Answers() {
		switch n := len(g.Rows); g.Answer {
		case suite.Holds:
			score.Holds += n
		case suite.Bug:
			score.Bugs += n
		case suite.Limit:
			score.Limits += n
		case suite.NotApplicable:
		default:
			score.Other += n
		}
	}
	return score, nil
}
