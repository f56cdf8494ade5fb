package suite

import (
	"context"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster/kinds"
	"example.org/lockproof/harness/history"
)

// provesNothing reports whether a trial has to be run again with no other beside it: the harness or the engine was held
// up, or a bound on time was broken while other trials shared the machine. Messages can be late although no process
// stalls for long.
func (t Result) provesNothing(o Options, beside bool) bool {
	switch {
	case t.Attempts > o.Retries:
		return false
	case hasStall(t.Results), t.timedOut && !t.clusterLost:
		return true
	}
	return beside && kinds.RealTime(o.Cluster) && slices.ContainsFunc(t.Results, t.brokenBound)
}

// retryAlone runs a trial that proved nothing beside others again, as often as the options say.
func retryAlone(ctx context.Context, o Options, run runTask, beside attempted) (result Result, provesNothing bool) {
	result = beside.result
	for provesNothing = true; provesNothing && ctx.Err() == nil; provesNothing = result.provesNothing(o, false) {
		beside.task.Result.Attempts = result.Attempts
		again := run(ctx, beside.task)
		again.Elapsed += result.Elapsed
		result = again
	}
	if !provesNothing {
		result.doubt(beside.result)
	}
	return result, provesNothing
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
