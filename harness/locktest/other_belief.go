package locktest

import (
	"context"
	"fmt"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// A lease that does not say how long it is valid, and of which nothing is declared, is believed for a TTL from the
// return of Acquire. Rows are run again under the two other beliefs that callers usually have, so that the summary can
// say which answers depend on it. A shorter belief can only end a bug, and a longer one only begin one.

// other is a belief that callers may have in place of the default.
type other struct {
	belief Belief
	// bugs: it is for the rows that have a bug; otherwise for those that have none.
	bugs bool
	// notice says what differs, with a number of rows.
	notice string
}

var others = []other{
	{FromCall, true, "counted from the call of Acquire (Believes(locktest.FromCall)), %d of the bugs do not occur: %s"},
	{UntilReleased, false,
		"with work that goes on until the release (Believes(locktest.UntilReleased)), %d more are bugs: %s"},
}

// under names the lock under another belief.
func under(name string, b Belief) string { return name + ", believed " + string(b) }

// register puts the lock among those under test, also as it is under each other belief.
func register(k locks.Kind, build New, s settings) {
	locks.Register(k)
	if s.belief != "" {
		return
	}
	for _, o := range others {
		same := k
		same.Name, same.New = under(k.Name, o.belief), kind(k.Name, build, o.belief, s.leavesBehind).New
		locks.Register(same)
	}
}

// compareBeliefs runs a row again under the beliefs that may change its answer, and notes if one does.
func (r *run) compareBeliefs(ctx context.Context, job suite.Job, done suite.Result) error {
	if r.about.Belief != FromReturn.description()+defaultSuffix || cluster.RealTime(r.on) {
		return nil
	}
	answer, _ := done.Answer()
	for _, o := range others {
		if !decided(answer) || o.bugs != (answer == suite.Bug) {
			continue
		}
		again := r.options(done.Seed, "")
		again.VerdictsOnly = true
		job.Lock = under(r.name, o.belief)
		there, err := r.runTrial(ctx, job, again)
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

// decided reports whether an answer says how the lock fared.
func decided(a suite.Answer) bool { return a == suite.Bug || a == suite.Limit || a == suite.Holds }

// beliefNotices say which answers depend on the belief.
func (r *run) beliefNotices() []string {
	var all []string
	for _, o := range others {
		if rows := r.differs[o.belief]; len(rows) > 0 {
			all = append(all, fmt.Sprintf(o.notice, len(rows), strings.Join(rows, ", ")))
		}
	}
	return all
}
