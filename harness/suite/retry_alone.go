package suite

import (
	"context"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// needsRetry reports whether a trial must run again alone: the harness stalled, the engine timed out, or in real time
// a bound was broken once, or the situation once did not occur. On a busy machine a process may be late without a
// stall, so a bound counts as broken only if a second run breaks it too.
func (t Result) needsRetry(o Options) bool {
	switch {
	case t.Attempts > o.Retries:
		return false
	case hasStall(t.Results), t.timedOut && !t.clusterLost:
		return true
	case t.Attempts > 1 || !cluster.RealTime(o.Cluster):
		return false
	}
	return t.unreached() || slices.ContainsFunc(t.Results, t.brokenBound)
}

// retryAlone repeats a trial until it proves something or the retries are used up.
func retryAlone(ctx context.Context, o Options, once attempt, t task, first Result) (last Result, needsRetry bool) {
	last = first
	for needsRetry = true; needsRetry && ctx.Err() == nil; needsRetry = last.needsRetry(o) {
		t.Result.Attempts = last.Attempts
		next := t.run(ctx, once)
		next.Elapsed += last.Elapsed
		last = next
	}
	if !needsRetry {
		last.undecideHolds(first)
	}
	return last, needsRetry
}

// brokenBound reports an unexpected violation of a bound on time.
func (t Result) brokenBound(r checker.Result) bool {
	property, _ := checker.Find(r.Property)
	return property.Timed && r.Verdict == history.Violated && t.Expect[r.Property] != history.Violated
}

// undecideHolds makes each "holds" inconclusive whose bound the first run broke: neither run shows whether the machine
// or the lock was too slow then.
func (t *Result) undecideHolds(first Result) {
	for _, broken := range first.Results {
		i := slices.IndexFunc(t.Results, func(r checker.Result) bool { return r.Property == broken.Property })
		if i < 0 || !first.brokenBound(broken) || t.Results[i].Verdict != history.Holds {
			continue
		}
		t.Results[i].Undecide(checker.Stalled, "violated in a first run (%s), and not when it ran again, alone: "+
			"the machine may have been too slow", broken.Violations[0].What)
	}
}

// undecideViolations makes a broken bound inconclusive if the run ended before a second trial could confirm it.
func (t *Result) undecideViolations() {
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
