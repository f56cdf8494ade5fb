package explore

import (
	"context"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// FindID identifies a find: schedules with equal IDs show the same defect.
type FindID struct {
	Property string `json:"property"`
	// Faults are the kinds of the necessary faults, found by experiment, for example "cut, pause"; "": none.
	Faults string `json:"faults,omitempty"`
}

// unknownFaults stands for the faults of a find without experiments.
const unknownFaults = "not known"

func (b FindID) String() string {
	switch b.Faults {
	case "":
		return b.Property + ", without a fault"
	case unknownFaults:
		return b.Property
	}
	return b.Property + ", by " + b.Faults
}

// Try runs one trial of a job with a seed. suite.Pool implements it in a child process.
type Try func(ctx context.Context, job suite.Job, seed uint64) suite.Result

// job is a schedule as a row of a suite.
func (s *Space) job(schedule *Schedule) suite.Job {
	return suite.Job{Scenario: schedule.Scenario("explored", nil), Lock: s.Lock, Without: s.Without, AllowBetter: true}
}

// FaultKinds finds the kinds of the faults that are necessary for a trial's violation of a property. suite.Pool
// implements it.
type FaultKinds func(ctx context.Context, job suite.Job, seed uint64, property string) ([]string, error)

// violated lists the violated properties of a trial that the space counts.
func (s *Space) violated(r suite.Result) []string {
	var found []string
	for _, r := range r.Results {
		if r.Verdict == history.Violated && s.counts(r.Property) {
			found = append(found, r.Property)
		}
	}
	return found
}

// findID identifies a violation by experiment, independently of earlier finds.
func (s *Search) findID(ctx context.Context, job suite.Job, seed uint64, property string) FindID {
	if s.Kinds == nil {
		return FindID{Property: property, Faults: unknownFaults}
	}
	kinds, err := s.Kinds(ctx, job, seed, property)
	if err != nil {
		return FindID{Property: property, Faults: unknownFaults}
	}
	return FindID{Property: property, Faults: strings.Join(kinds, ", ")}
}
