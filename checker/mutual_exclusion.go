package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockproof/harness/history"
)

// mutualExclusion: no two leases on one key overlap on the true clock
// (redis.io, "Safety property: mutual exclusion"). Two oracles judge it, key by
// key: a sweep, and the second.
func (r *run) mutualExclusion(second func() []porcupine.CheckResult) (Result, error) {
	var violations []Violation
	var leases int
	unknown := ""
	overlapping := make([][]meeting, len(r.keys))
	sideBySide(len(r.keys), func(i int) { overlapping[i] = r.sweep(r.keys[i].leases) })
	answers := second()
	for i, k := range r.keys {
		overlaps, answer := overlapping[i], answers[i]
		if err := agree(history.MutualExclusion, k.name, len(overlaps) > 0, answer); err != nil {
			return Result{}, err
		}
		if answer == porcupine.Unknown {
			unknown = k.name
		}
		leases += len(k.leases)
		for _, o := range overlaps {
			violations = append(violations, r.overlapViolation(r.overlap(o), len(violations)))
		}
	}
	result := settle(history.MutualExclusion, violations, map[string]int64{
		"grants": int64(r.counts.grants), "leases": int64(leases),
		"contended": int64(r.counts.contended), "longest_lease": r.longestLease(),
	})
	if result.Verdict == history.Holds && unknown != "" {
		result.undecide(Unknown, "porcupine did not finish with key %q", unknown)
	}
	return result, nil
}

// ask asks the second oracle about each key's leases, in the background, and gives
// what waits for its answers.
func (r *run) ask(second func([]lease) porcupine.CheckResult) (answers func() []porcupine.CheckResult) {
	done := make(chan []porcupine.CheckResult, 1)
	go func() {
		answers := make([]porcupine.CheckResult, len(r.keys))
		sideBySide(len(r.keys), func(i int) { answers[i] = second(r.keys[i].leases) })
		done <- answers
	}()
	return func() []porcupine.CheckResult { return <-done }
}

// overlap is two leases that were held at once; first began first.
type overlap struct{ first, second Lease }

// shared is the stretch for which both were held.
func (o overlap) shared() span {
	return span{o.second.From, min(o.first.Until, o.second.Until)}
}

// meeting is an overlap as it is kept.
type meeting struct{ first, second lease }

// overlap tells an overlap.
func (r *run) overlap(m meeting) overlap { return overlap{r.lease(m.first), r.lease(m.second)} }

// sweep finds the overlaps of one key's leases. It walks them in the order of
// their beginnings and remembers the one that lasts longest so far: a lease
// overlaps an earlier one if and only if it overlaps that. (The stretches of one
// lease never overlap each other.) Each lease is named as the second of at most
// one overlap. Ends are exclusive: leases that touch do not overlap.
func (r *run) sweep(leases []lease) []meeting {
	if !slices.IsSortedFunc(leases, r.byBeginning) {
		leases = slices.Clone(leases)
		slices.SortFunc(leases, r.byBeginning)
	}
	var found []meeting
	lasting := new(lease)
	for i := range leases {
		l := &leases[i]
		if l.until <= l.from {
			continue
		}
		if l.from < lasting.until {
			found = append(found, meeting{*lasting, *l})
		}
		if l.until > lasting.until {
			lasting = l
		}
	}
	return found
}

func (r *run) byBeginning(a, b lease) int {
	if a.from != b.from {
		return cmp.Compare(a.from, b.from)
	}
	return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(r.name(a.client), r.name(b.client)), cmp.Compare(a.grant.id, b.grant.id))
}

// overlapViolation tells an overlap; only those that will be shown get a blame.
func (r *run) overlapViolation(o overlap, index int) Violation {
	shared := o.shared()
	v := Violation{
		Key: o.second.Key, From: shared.from, Until: shared.until,
		Processes: []string{o.first.Client, o.second.Client},
		What: fmt.Sprintf("%s was granted %q at %s while %s still held it, until %s: both held it for %s",
			o.second.Client, o.second.Key, at(o.second.From), o.first.Client, at(o.first.Until), lasting(shared.length())),
		Leases: []Lease{o.first, o.second},
	}
	if index < maxViolations {
		v.Blame = r.blameOverlap(o)
	}
	return v
}

// longestLease is the longest time for which one lease was held.
func (r *run) longestLease() int64 {
	var best int64
	for _, k := range r.keys {
		for _, l := range k.leases {
			best = max(best, l.until-l.from)
		}
	}
	return best
}
