package suite

import (
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster/kinds"
	"example.org/lockproof/harness/history"
)

// provesNothing reports whether an attempt has to be made again with no other trial beside
// it: the harness or the engine was held up, or a bound on time was broken while other
// trials shared the machine. Messages can be late although no process stalls for long.
func (r *runner) provesNothing(t ticket, attempt Result) bool {
	switch {
	case attempt.Attempts > r.options.Retries:
		return false
	case hasStall(attempt.Results), attempt.timedOut && !attempt.clusterLost:
		return true
	}
	beside := t.firstAttempt == nil && r.options.parallel() > 1 && kinds.RealTime(r.options.Cluster)
	return beside && slices.ContainsFunc(attempt.Results, attempt.brokenBound)
}

// brokenBound reports whether a result is of a bound on time that was broken, and was not
// expected to be.
func (t Result) brokenBound(r checker.Result) bool {
	property, _ := checker.Find(r.Property)
	return property.Timed && r.Verdict == history.Violated && t.Expect[r.Property] != history.Violated
}

// doubt takes back each "holds" of a trial alone where the same trial broke the bound beside others:
// whether the machine or the lock was too slow then, neither run tells.
func (t *Result) doubt(beside Result) {
	for _, first := range beside.Results {
		i := slices.IndexFunc(t.Results, func(r checker.Result) bool { return r.Property == first.Property })
		if i < 0 || !beside.brokenBound(first) || t.Results[i].Verdict != history.Holds {
			continue
		}
		t.Results[i].Undecide(checker.Stalled, "violated beside other trials (%s), and not when it ran alone: "+
			"the machine may have been too slow; --parallel 1 tells", first.Violations[0].What)
	}
}

func hasStall(results []checker.Result) bool {
	return slices.ContainsFunc(results, func(r checker.Result) bool { return r.Cause == checker.Stalled })
}
