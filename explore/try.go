package explore

import (
	"context"

	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// Breach is what tells one violation from another: two schedules with one breach show
// the same thing.
type Breach struct {
	Property string `json:"property"`
	Broke    string `json:"broke"` // the rule or assumption that the blame names
}

func (b Breach) String() string {
	if b.Broke == "" {
		return b.Property
	}
	return b.Property + ", " + b.Broke
}

// Try runs one trial of a job with a seed, in virtual time: suite.Pool does, in a child.
type Try func(ctx context.Context, job suite.Job, seed uint64) suite.Result

// job is a schedule as a row of a suite.
func (s *Space) job(schedule *Schedule) suite.Job {
	return suite.Job{Scenario: schedule.Scenario("explored", nil), Lock: s.Lock, Without: s.Without, Lenient: true}
}

// breaches lists what a trial violated of what counts, each property with the blame of
// its first violation.
func (s *Space) breaches(r suite.Result) []Breach {
	var found []Breach
	for _, r := range r.Results {
		if r.Verdict != history.Violated || !s.counts(r.Property) {
			continue
		}
		b := Breach{Property: r.Property}
		if len(r.Violations) > 0 && r.Violations[0].Blame != nil {
			b.Broke = r.Violations[0].Blame.Broke
		}
		found = append(found, b)
	}
	return found
}
