package explore

import (
	"context"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// FindID is what tells one violation from another: two schedules with one breach show
// the same thing.
type FindID struct {
	Property string `json:"property"`
	// Faults are the kinds of the faults that it needs, as in "cut, pause": experiments have
	// shown that. "": it needs none.
	Faults string `json:"faults,omitempty"`
}

// unknownFaults are those of a find with which no experiment was made, or none could be.
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

// Try runs one trial of a job with a seed, in virtual time: suite.Pool does, in a child.
type Try func(ctx context.Context, job suite.Job, seed uint64) suite.Result

// job is a schedule as a row of a suite.
func (s *Space) job(schedule *Schedule) suite.Job {
	return suite.Job{Scenario: schedule.Scenario("explored", nil), Lock: s.Lock, Without: s.Without, AllowBetter: true}
}

// FaultKinds finds the kinds of the faults that a violation of a property in a trial needs.
// suite.Pool does.
type FaultKinds func(ctx context.Context, job suite.Job, seed uint64, property string) ([]string, error)

// violated lists the properties that count and that a trial violated.
func (s *Space) violated(r suite.Result) []string {
	var found []string
	for _, r := range r.Results {
		if r.Verdict == history.Violated && s.counts(r.Property) {
			found = append(found, r.Property)
		}
	}
	return found
}

// breach tells a violation of a property from others by experiment, and by nothing that was found before.
func (s *Search) breach(ctx context.Context, job suite.Job, seed uint64, property string) FindID {
	if s.Kinds == nil {
		return FindID{Property: property, Faults: unknownFaults}
	}
	kinds, err := s.Kinds(ctx, job, seed, property)
	if err != nil {
		return FindID{Property: property, Faults: unknownFaults}
	}
	return FindID{Property: property, Faults: strings.Join(kinds, ", ")}
}

func (b FindID) kinds() []string {
	if b.Faults == "" || b.Faults == unknownFaults {
		return nil
	}
	return strings.Split(b.Faults, ", ")
}

// has reports whether a schedule has a fault of each of these kinds.
func (s *Schedule) has(kinds []string) bool {
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		return !slices.ContainsFunc(s.Steps, func(step Step) bool { return string(step.Verb) == kind })
	})
}
