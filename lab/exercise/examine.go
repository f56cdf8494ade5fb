package exercise

import (
	"context"
	"fmt"
	"time"

	"example.org/lockproof/explore"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/scenarios"
)

// Schedules is the number of random schedules that a lock must survive to pass a level.
const Schedules = 100

// step is the number of schedules between progress reports.
const step = 25

// shrinkFor bounds the shrinking of a schedule that breaks the lock.
const shrinkFor = 4 * time.Second

// Progress is the progress and the result of an examination.
type Progress struct {
	// Tried is the number of random schedules so far; the catalogue's cases come first.
	Tried int
	// Broken is the trial that broke the lock, with events; nil: none has.
	Broken *suite.Result
	// Scenario is from the catalogue or random.
	Scenario *scenarios.Scenario
	Drawn    bool // it is random schedule number Tried
}

// Passed reports whether the lock passed the level.
func (p Progress) Passed() bool { return p.Broken == nil && p.Tried >= Schedules }

// Examine tests a lock without some rules: on the level's cases if tried is 0, then on the next random schedules.
func (l Level) Examine(ctx context.Context, run suite.Runner, without []string, tried int) (Progress, error) {
	if tried < 0 || tried > Schedules {
		return Progress{}, fmt.Errorf("%d schedules cannot have been tried: there are %d", tried, Schedules)
	}
	if tried == 0 {
		p, err := l.cases(ctx, run, without)
		if err != nil || p.Broken != nil {
			return p, err
		}
	}
	return search(ctx, run, without, tried)
}

// cases tests the level's scenarios of the catalogue.
func (l Level) cases(ctx context.Context, run suite.Runner, without []string) (Progress, error) {
	all, err := scenarios.Select(l.Cases)
	if err != nil {
		return Progress{}, err
	}
	for _, s := range all {
		result, err := lab.One(ctx, run, suite.Job{Scenario: s, Without: without, AllowBetter: true}, 1, true)
		if err != nil {
			return Progress{}, err
		}
		if standing, _ := result.Standing(); standing == suite.Differs {
			return Progress{Broken: &result, Scenario: s}, nil
		}
	}
	return Progress{}, nil
}

// search tests the next random schedules, and shrinks one that breaks the lock.
func search(ctx context.Context, run suite.Runner, without []string, tried int) (Progress, error) {
	s := &explore.Search{
		Question: explore.Question{Space: explore.Space{Lock: locks.Reference, Without: without, TTL: time.Second},
			Seed: 1, Schedules: min(tried+step, Schedules), Enough: 1},
		Shrink: shrinkFor, Parallel: 1,
		Try: func(ctx context.Context, job suite.Job, seed uint64) suite.Result {
			result, err := lab.One(ctx, run, job, seed, false)
			if err != nil {
				result.Failure = err.Error()
			}
			return result
		},
	}
	tally, err := s.Resume(ctx, explore.Tally{Next: tried})
	switch {
	case err != nil:
		return Progress{}, err
	case ctx.Err() != nil:
		return Progress{}, context.Cause(ctx)
	case len(tally.Failed) > 0:
		return Progress{}, fmt.Errorf("schedule %d: %s", tally.Failed[0].Number, tally.Failed[0].Why)
	case len(tally.Finds) == 0:
		return Progress{Tried: tally.Next}, nil
	}
	found := tally.Finds[0]
	drawn := found.Shrunk.Scenario("drawn", map[string]string{found.Property: history.Holds})
	result, err := lab.One(ctx, run, suite.Job{Scenario: drawn, Without: without, AllowBetter: true}, found.Seed, true)
	return Progress{Tried: found.Number + 1, Broken: &result, Scenario: drawn, Drawn: true}, err
}
