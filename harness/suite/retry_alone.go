package suite

import (
	"context"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// needsRetry reports whether a trial must run again alone: the harness stalled, the engine timed out, or in real time,
// once, a bound was broken or a known defect did not show, or the situation did not occur. On a busy machine a process
// may be late without a stall, so a bound counts as broken only if a second run breaks it too.
func (t Result) needsRetry(o Options) bool {
	switch {
	case t.Attempts > o.Retries:
		return false
	case hasStall(t.Results), t.timedOut && !t.clusterLost:
		return true
	case t.Attempts > 1 || !cluster.RealTime(o.Cluster):
		return false
	}
	return t.unreached() || slices.ContainsFunc(t.Results, t.brokenBound) || slices.ContainsFunc(t.Results, t.hidDefect)
}

// confirmed repeats a trial until it proves something or the retries are used up, and compares it with the reference
// of the lock's class. No slow machine excuses an unexpected violation that is not of a bound: such a trial stays.
func (p *Pool) confirmed(ctx context.Context, t task, first Result) Result {
	last := first
	for last.needsRetry(p.options) {
		if p.stopped(ctx) || slices.ContainsFunc(last.Results, last.provesDefect) {
			last.undecideViolations()
			break
		}
		t.Result.Attempts = last.Attempts
		next := p.run(ctx, t)
		next.Elapsed += last.Elapsed
		last = next
	}
	if last.clusterLost {
		p.lost.Store(true)
	}
	last.undecideHolds(first)
	// A reference that an interrupt cuts short would decide nothing, and a limit would look like a bug.
	ctx = context.WithoutCancel(ctx)
	last.compareWithClass(t.Job, func(j Job) Result { return p.reference(ctx, j, last.Seed) })
	return last
}

// brokenBound reports an unexpected violation of a bound on time.
func (t Result) brokenBound(r checker.Result) bool { return t.unexpected(r) && isTimed(r) }

// provesDefect reports an unexpected violation of a property without a bound on time.
func (t Result) provesDefect(r checker.Result) bool { return t.unexpected(r) && !isTimed(r) }

func (t Result) unexpected(r checker.Result) bool {
	return r.Verdict == history.Violated && t.Expect[r.Property] != history.Violated
}

func isTimed(r checker.Result) bool {
	property, _ := checker.Find(r.Property)
	return property.Timed
}

// hidDefect reports a property that held, although the lock is known to violate it: a late client may meet no other.
func (t Result) hidDefect(r checker.Result) bool {
	return r.Verdict == history.Holds && t.Expect[r.Property] == history.Violated
}

// undecideHolds makes each "holds" inconclusive that the first run violated: for a bound, neither run shows whether the
// machine or the lock was too slow then.
func (t *Result) undecideHolds(first Result) {
	for _, broken := range first.Results {
		i := slices.IndexFunc(t.Results, func(r checker.Result) bool { return r.Property == broken.Property })
		if i < 0 || broken.Verdict != history.Violated || t.Results[i].Verdict != history.Holds {
			continue
		}
		t.Results[i].Undecide(checker.Stalled, "violated in a first run (%s), and not when it ran again, alone: "+
			"the machine may have been too slow", broken.Violations[0].What)
	}
}

// undecideViolations makes a broken bound inconclusive if no second trial confirms it.
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
