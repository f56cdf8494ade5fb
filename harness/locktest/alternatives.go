package locktest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
)

// What a test does not declare is assumed: a belief, if its leases report no validity, and a TTL. Rows run again under
// the other usual assumptions, so that the summary can list the answers that depend on them. A shorter belief can only
// remove a bug, and a longer one can only add one.

// alternative is an assumption that may be right instead of the default.
type alternative struct {
	belief Belief
	ttl    time.Duration
	// bugs: rows with a bug run again under it; otherwise rows without one.
	bugs bool
	// notice is a format for the number and the names of the rows that differ.
	notice string
}

var alternatives = []alternative{
	{belief: FromCall, bugs: true,
		notice: "counted from the call of Acquire (Believes(locktest.FromCall)), the bugs are %d fewer: %s"},
	{belief: UntilReleased,
		notice: "with work that goes on until the release (Believes(locktest.UntilReleased)), the bugs are %d more: %s"},
	{ttl: 30 * time.Second, bugs: true,
		notice: "with a TTL of 30 s (TTL(30*time.Second)), the bugs are %d fewer, since some delay of the lock or " +
			"of its client does not grow with the TTL: %s"},
}

// open reports whether the test left the assumption to the default.
func (r *run) open(o alternative) bool {
	if o.ttl > 0 {
		return r.ttl == 0
	}
	return r.abilities.Belief == undeclared()
}

// compareAlternatives runs a row again under the assumptions that may change its answer, and records the changes.
func (r *run) compareAlternatives(ctx context.Context, job suite.Job, done suite.Result) error {
	answer, _ := done.Answer()
	if cluster.RealTime(r.on) || !decided(answer) {
		return nil
	}
	for i, o := range alternatives {
		if !r.open(o) || o.bugs != (answer == suite.Bug) {
			continue
		}
		again, options := job, r.options(done.Seed, "")
		again.Belief, options.TTL = string(o.belief), cmp.Or(o.ttl, r.ttl)
		there, err := r.runTrial(ctx, again, options)
		if err != nil {
			return err
		}
		r.filterProperties(&there)
		if now, _ := there.Answer(); decided(now) && (now == suite.Bug) != (answer == suite.Bug) {
			r.differs[i] = append(r.differs[i], job.Scenario.Name)
		}
	}
	return nil
}

func decided(a suite.Answer) bool { return a == suite.Bug || a == suite.Limit || a == suite.Holds }

// alternativeNotices list the answers that depend on what the test does not declare.
func (r *run) alternativeNotices() []string {
	var all []string
	for i, o := range alternatives {
		if rows := r.differs[i]; len(rows) > 0 {
			all = append(all, fmt.Sprintf(o.notice, len(rows), strings.Join(rows, ", ")))
		}
	}
	return all
}
