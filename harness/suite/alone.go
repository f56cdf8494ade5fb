package suite

import (
	"context"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// provesNothing reports whether a trial has to be run again with no other beside it: the harness or the engine was held
// up, or a bound on real time was broken once. A process that gets little of a busy machine is late although it never
// stalls for long: so a bound counts as broken when a second run breaks it too.
func (t Result) provesNothing(o Options) bool {
	switch {
	case t.Attempts > o.Retries:
		return false
	case hasStall(t.Results), t.timedOut && !t.clusterLost:
		return true
	}
	return t.Attempts == 1 && cluster.RealTime(o.Cluster) && slices.ContainsFunc(t.Results, t.brokenBound)
}

// retryAlone runs a trial that proved nothing again, as often as the options say.
func retryAlone(ctx context.Context, o Options, run runTask, first attempted) (result Result, provesNothing bool) {
	result = first.result
	for provesNothing = true; provesNothing && ctx.Err() == nil; provesNothing = result.provesNothing(o) {
		first.task.Result.Attempts = result.Attempts
		again := run(ctx, first.task)
		again.Elapsed += result.Elapsed
		result = again
	}
	if !provesNothing {
		result.doubt(first.result)
	}
	return result, provesNothing
}

// brokenBound reports whether a result is of a bound on time that was broken, and was not
// expected to be.
func (t Result) brokenBound(r checker.Result) bool {
	property, _ := checker.Find(r.Property)
	return property.Timed && r.Verdict == history.Violated && t.Expect[r.Property] != history.Violated
}

// doubt takes back each "holds" of a trial where its first run broke the bound: whether the machine or the lock was too
// slow then, neither run tells.
func (t *Result) doubt(first Result) {
	for _, broken := range first.Results {
		i := slices.IndexFunc(t.Results, func(r checker.Result) bool { return r.Property == broken.Property })
		if i < 0 || !first.brokenBound(broken) || t.Results[i].Verdict != history.Holds {
			continue
		}
		t.Results[i].Undecide(checker.Stalled, "violated in a first run (%s), and not when it ran again, alone: "+
			"the machine may have been too slow", broken.Violations[0].What)
	}
}

// withdraw takes back that a bound was broken, where the run ended before a second one could break it, too.
func (t *Result) withdraw() {
	for i, r := range t.Results {
		if t.brokenBound(r) {
			t.Results[i].Undecide(checker.Stalled, "violated in a run that was not repeated alone (%s): "+
				"the machine may have been too slow", r.Violations[0].What)
		}
	}
}

func hasStall(results []checker.Result) bool {
	return slices.ContainsFunc(results, func(r checker.Result) bool { return r.Cause == checker.Stalled })
}
