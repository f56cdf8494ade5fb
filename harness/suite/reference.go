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

// reference runs a row with a reference, beside the trial of a lock under test.
func (p *Pool) reference(ctx context.Context, j Job, seed uint64) Result {
	j.AllowBetter = true
	return p.run(ctx, Options{Cluster: Virtual, Seed: seed, TTL: p.options.TTL}.row(j)[0])
}

// compareWithClass compares a trial with the reference of its lock's class. It skips a row in its form for fewer
// servers if the reference's verdicts there are not those on the scenario's own number: then it is another situation.
func (t *Result) compareWithClass(j Job, run func(Job) Result) {
	kind, err := locks.Find(t.Lock)
	if err != nil || t.Failure != "" || t.Skipped != "" {
		return
	}
	references := referencesOf(kind)
	same := Job{Scenario: j.Scenario, Variant: j.Variant, Lock: references[0]}
	switch {
	case j.Mapped != nil && !sameVerdicts(j.Scenario.Expect, run(Job{Scenario: j.Scenario, Lock: references[0]}),
		run(Job{Scenario: j.Mapped, Lock: references[0]})):
		t.skip(fmt.Sprintf("on %d servers it is another situation than on %d, as the reference shows",
			len(j.Scenario.Nodes), len(j.Mapped.Nodes)))
	case !j.AllowBetter:
	case kind.Renews && t.unreached() && run(same).isInconclusive():
		t.skip("it does not occur with a lock that renews its leases, as the reference shows")
	case len(t.violated()) > 0:
		t.measureClass(same, references, run)
	}
}

func sameVerdicts(expect map[string]string, a, b Result) bool {
	for property := range expect {
		if a.verdict(property) != b.verdict(property) {
			return false
		}
	}
	return true
}

// measureClass records the verdicts of the references on the properties that the trial violated. A later reference
// runs if an earlier one did not decide.
func (t *Result) measureClass(same Job, references []string, run func(Job) Result) {
	t.Reference = map[string]string{}
	for _, same.Lock = range references {
		t.addReference(run(same))
		verdicts := slices.Compact(slices.Sorted(maps.Values(t.Reference)))
		if slices.Equal(verdicts, []string{history.Violated}) {
			t.Remedies = remedies(same, t.violated(), run)
		}
		if !slices.Contains(verdicts, history.Inconclusive) {
			return
		}
	}
}

// addReference records a reference's verdicts on violated properties that no earlier reference decided.
func (t *Result) addReference(reference Result) {
	for _, property := range t.violated() {
		verdict := reference.verdict(property)
		if reference.Skipped != "" { // virtual time cannot run the row: its expectation is the verdict elsewhere
			verdict = cmp.Or(t.Expect[property], history.Holds)
		}
		if earlier := t.Reference[property]; earlier == "" || earlier == history.Inconclusive && verdict == history.Violated {
			t.Reference[property] = verdict
		}
	}
}

func (t Result) isInconclusive() bool {
	standing, _ := t.Standing()
	return standing == Inconclusive
}

// unreached reports whether a trial is inconclusive only because its situation did not occur.
func (t Result) unreached() bool {
	return t.isInconclusive() && !slices.ContainsFunc(t.Results, func(r checker.Result) bool {
		return r.Verdict == history.Inconclusive && t.Expect[r.Property] != "" && r.Cause != checker.Vacuous
	})
}

// skip drops a trial's results.
func (t *Result) skip(why string) {
	*t = Result{Scenario: t.Scenario, Variant: t.Variant, Cluster: t.Cluster, Trial: t.Trial, Seed: t.Seed, Lock: t.Lock,
		AllowBetter: t.AllowBetter, Skipped: why}
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

// remedies runs the reference again with one change at a time, and returns the changes with which it keeps these
// properties and violates no other.
func remedies(j Job, violated []string, run func(Job) Result) (found []string) {
	try := func(remedy string, changed Job, kept []string, spared ...string) {
		done := run(changed)
		broken := slices.DeleteFunc(done.violated(), func(p string) bool { return slices.Contains(spared, p) })
		if len(broken) == 0 &&
			!slices.ContainsFunc(kept, func(p string) bool { return done.verdict(p) != history.Holds }) {
			found = append(found, remedy)
		}
	}
	if s := *j.Scenario; s.Persistence != cluster.PersistAlways {
		s.Persistence = cluster.PersistAlways
		try("persistence (appendfsync always)", Job{Scenario: &s, Variant: j.Variant, Lock: j.Lock}, violated)
	}
	if j.Variant != "" && j.Variant == j.Scenario.OneNode() {
		try("a lock on five servers", Job{Scenario: j.Scenario, Lock: j.Lock}, violated)
	}
	if s := *j.Scenario; slices.Contains(violated, checker.ProtectedData) && !s.Store.Fenced() {
		s.Store = scenarios.CheckFence
		// Leases still overlap, but the data are safe, if the tokens are in order.
		kept := slices.DeleteFunc(slices.Concat(violated, []string{checker.Fencing}),
			func(p string) bool { return p == checker.MutualExclusion })
		try("a fencing token that the store checks", Job{Scenario: &s, Variant: j.Variant, Lock: locks.Fenced}, kept,
			checker.MutualExclusion)
	}
	return found
}
