package suite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/locks/builtin"
	"example.org/lockproof/scenarios"
)

// A lock under test is compared with the reference of its class: redlock on the same number of servers, with the same
// abilities. It runs in the same row with the same seed, in virtual time. A property that it violates there is a
// limit of the class, not a bug of the lock.

// measureClass runs the reference in a row in which a lock under test violated a property, and records its verdicts.
func measureClass(ctx context.Context, run runTask, j Job, o Options, t *Result) {
	violated := t.violated()
	if !j.AllowBetter || t.Failure != "" || t.Skipped != "" || len(violated) == 0 {
		return
	}
	t.Reference = map[string]string{}
	kind, err := locks.Find(t.Lock)
	if err != nil {
		return // an unknown lock has no reference, so each violation is a bug
	}
	o = o.forReference(*t)
	same := Job{Scenario: j.Scenario, Variant: j.Variant, AllowBetter: true}
	for _, same.Lock = range referencesOf(kind) {
		t.compareWith(o.runFirst(ctx, same, run), violated)
		verdicts := slices.Compact(slices.Sorted(maps.Values(t.Reference)))
		if slices.Equal(verdicts, []string{history.Violated}) {
			t.Remedies = remedies(ctx, run, same, o, violated)
		}
		if !slices.Contains(verdicts, history.Inconclusive) {
			return
		}
	}
}

// compareWith records the reference's verdicts on properties that no earlier reference decided.
func (t *Result) compareWith(reference Result, violated []string) {
	for _, property := range violated {
		verdict := reference.verdict(property)
		if reference.Skipped != "" { // virtual time cannot run the row: its expectation is the verdict elsewhere
			verdict = cmp.Or(t.Expect[property], history.Holds)
		}
		if earlier := t.Reference[property]; earlier == "" || earlier == history.Inconclusive && verdict == history.Violated {
			t.Reference[property] = verdict
		}
	}
}

// checkReached skips a row whose situation does not occur with a lock that renews its leases: there, the reference of
// its class decides nothing either.
func checkReached(ctx context.Context, run runTask, j Job, o Options, t *Result) {
	kind, err := locks.Find(t.Lock)
	if outcome, _ := t.Outcome(); outcome != Inconclusive || !j.AllowBetter || err != nil || !kind.Renews ||
		slices.ContainsFunc(t.Results, func(r checker.Result) bool {
			return r.Verdict == history.Inconclusive && t.Expect[r.Property] != "" && r.Cause != checker.Vacuous
		}) {
		return
	}
	same := Job{Scenario: j.Scenario, Variant: j.Variant, AllowBetter: true, Lock: referencesOf(kind)[0]}
	if outcome, _ := o.forReference(*t).runFirst(ctx, same, run).Outcome(); outcome == Inconclusive {
		t.skip("it does not occur with a lock that renews its leases, as the reference shows")
	}
}

// forReference are the options of a reference's trial beside another lock's.
func (o Options) forReference(t Result) Options {
	return Options{Cluster: Virtual, Seed: t.Seed, TTL: o.TTL, VerdictsOnly: true}
}

// skip drops a trial's results.
func (t *Result) skip(why string) {
	*t = Result{Scenario: t.Scenario, Variant: t.Variant, Cluster: t.Cluster, Trial: t.Trial, Seed: t.Seed, Lock: t.Lock,
		AllowBetter: t.AllowBetter, Skipped: why}
}

// checkMapped skips a row in its form for fewer servers if the reference's verdicts there differ from those on the
// scenario's own number: then it is another situation.
func checkMapped(ctx context.Context, run runTask, j Job, o Options, t *Result) {
	if j.Mapped == nil || t.Failure != "" || t.Skipped != "" {
		return
	}
	kind, err := locks.Find(t.Lock)
	if err != nil {
		return
	}
	o = o.forReference(*t)
	fewer := Job{Scenario: j.Scenario, AllowBetter: true, Lock: referencesOf(kind)[0]}
	more := fewer
	more.Scenario = j.Mapped
	here, there := o.runFirst(ctx, fewer, run), o.runFirst(ctx, more, run)
	for property := range j.Scenario.Expect {
		if here.verdict(property) != there.verdict(property) {
			t.skip(fmt.Sprintf("on %d servers it is another situation than on %d, as the reference shows",
				len(j.Scenario.Nodes), len(j.Mapped.Nodes)))
			return
		}
	}
}

// referencesOf names the references of a lock's class, the most similar first. The second is for situations that the
// first one's renewals prevent.
func referencesOf(k locks.Kind) []string {
	plain := locks.Reference
	if k.Fencing {
		plain = locks.Fenced
	}
	if k.Renews {
		return []string{builtin.Renewing, plain}
	}
	return []string{plain}
}

// violated lists the properties that the trial violated.
func (t Result) violated() []string {
	var names []string
	for _, r := range t.Results {
		if r.Verdict == history.Violated {
			names = append(names, r.Property)
		}
	}
	return names
}

// remedies runs the reference again with one change at a time, and returns the changes without a violation.
func remedies(ctx context.Context, run runTask, j Job, o Options, violated []string) (found []string) {
	try := func(remedy string, changed Job, kept ...string) {
		done := o.runFirst(ctx, changed, run)
		if !slices.ContainsFunc(kept, func(p string) bool { return done.verdict(p) != history.Holds }) {
			found = append(found, remedy)
		}
	}
	if s := *j.Scenario; s.Persistence != cluster.PersistAlways {
		s.Persistence = cluster.PersistAlways
		changed := j
		changed.Scenario = &s
		try("persistence (appendfsync always)", changed, violated...)
	}
	if j.Variant != "" && j.Variant == j.Scenario.OneNode() {
		changed := j
		changed.Variant = "" // as the scenario stands
		try("a lock on five servers", changed, violated...)
	}
	if s := *j.Scenario; slices.Contains(violated, checker.ProtectedData) && !s.Store.Fenced() {
		s.Store = scenarios.CheckFence
		changed := j
		changed.Scenario, changed.Lock = &s, locks.Fenced
		// Leases still overlap, but the data are safe.
		try("a fencing token that the store checks", changed, checker.ProtectedData)
	}
	return found
}
