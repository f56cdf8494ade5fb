package suite

import (
	"cmp"
	"context"
	"fmt"
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
	o = Options{Cluster: Virtual, Seed: t.Seed, TTL: o.TTL, VerdictsOnly: true}
	same := Job{Scenario: j.Scenario, Variant: j.Variant, AllowBetter: true, Lock: referenceOf(kind)}
	done := o.runFirst(ctx, same, run)
	limit := true
	for _, property := range violated {
		verdict := done.verdict(property)
		if done.Skipped != "" { // virtual time cannot run the row, whose expectation is the reference's verdict elsewhere
			verdict = cmp.Or(t.Expect[property], history.Holds)
		}
		t.Reference[property] = verdict
		limit = limit && verdict == history.Violated
	}
	if limit {
		t.Remedies = remedies(ctx, run, same, o, violated)
	}
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
	o = Options{Cluster: Virtual, Seed: t.Seed, TTL: o.TTL, VerdictsOnly: true}
	fewer := Job{Scenario: j.Scenario, AllowBetter: true, Lock: referenceOf(kind)}
	more := fewer
	more.Scenario = j.Mapped
	here, there := o.runFirst(ctx, fewer, run), o.runFirst(ctx, more, run)
	for property := range j.Scenario.Expect {
		if here.verdict(property) != there.verdict(property) {
			*t = Result{
				Scenario: t.Scenario, Cluster: t.Cluster, Trial: t.Trial, Seed: t.Seed, Lock: t.Lock, AllowBetter: t.AllowBetter,
				Skipped: fmt.Sprintf("on %d servers it is another situation than on %d, as the reference shows",
					len(j.Scenario.Nodes), len(j.Mapped.Nodes)),
			}
			return
		}
	}
}

// referenceOf names the reference of a lock's class.
func referenceOf(k locks.Kind) string {
	switch {
	case k.Renews:
		return builtin.Renewing
	case k.Fencing:
		return locks.Fenced
	}
	return locks.Reference
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
