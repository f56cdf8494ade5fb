package locktest

import (
	"context"
	"fmt"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
)

// Without a declaration, the belief in a lease that reports no validity is FromReturn. Rows run again under the two
// other usual beliefs, so that the summary can list the answers that depend on it. A shorter belief can only remove a
// bug, and a longer one can only add one.

// alternative is a belief that callers may have instead of the default.
type alternative struct {
	belief Belief
	// bugs: rows with a bug run again under it; otherwise rows without one.
	bugs bool
	// notice is a format for the number and the names of the rows that differ.
	notice string
}

var alternatives = []alternative{
	{FromCall, true, "counted from the call of Acquire (Believes(locktest.FromCall)), %d of the bugs do not occur: %s"},
	{UntilReleased, false,
		"with work that goes on until the release (Believes(locktest.UntilReleased)), %d more are bugs: %s"},
}

// compareBeliefs runs a row again under the beliefs that may change its answer, and records the changes.
func (r *run) compareBeliefs(ctx context.Context, job suite.Job, done suite.Result) error {
	if r.abilities.Belief != FromReturn.description()+defaultSuffix || cluster.RealTime(r.on) {
		return nil
	}
	answer, _ := done.Answer()
	for _, o := range alternatives {
		if !decided(answer) || o.bugs != (answer == suite.Bug) {
			continue
		}
		job.Changes.Belief = string(o.belief)
		there, err := r.runTrial(ctx, job, r.options(done.Seed, ""))
		if err != nil {
			return err
		}
		r.filterProperties(&there)
		if now, _ := there.Answer(); decided(now) && (now == suite.Bug) != (answer == suite.Bug) {
			r.differs[o.belief] = append(r.differs[o.belief], job.Scenario.Name)
		}
	}
	return nil
}

func decided(a suite.Answer) bool { return a == suite.Bug || a == suite.Limit || a == suite.Holds }

// beliefNotices list the answers that depend on the belief.
func (r *run) beliefNotices() []string {
	var all []string
	for _, o := range alternatives {
		if rows := r.differs[o.belief]; len(rows) > 0 {
			all = append(all, fmt.Sprintf(o.notice, len(rows), strings.Join(rows, ", ")))
		}
	}
	return all
}
