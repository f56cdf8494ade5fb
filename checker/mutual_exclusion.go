package checker

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"lockproof/harness/history"
)

// mutualExclusion: no two leases on one key overlap on the true clock
// (redis.io, "Safety property: mutual exclusion"). Two oracles judge it.
func (r *run) mutualExclusion(second func([]Lease) porcupine.CheckResult) (Result, error) {
	var violations []Violation
	var leases int
	unknown := ""
	opinions := r.opinions(second)
	for i, key := range r.keys {
		overlaps, answer := opinions[i].overlaps, opinions[i].answer
		if err := agree(history.MutualExclusion, key, len(overlaps) > 0, answer); err != nil {
			return Result{}, err
		}
		if answer == porcupine.Unknown {
			unknown = key
		}
		leases += len(r.leases[key])
		for _, o := range overlaps {
			violations = append(violations, r.overlapViolation(o, len(violations)))
		}
	}
	result := settle(history.MutualExclusion, violations, map[string]int64{
		"grants": int64(r.counts.grants), "leases": int64(leases),
		"contended": int64(r.counts.contended), "longest_lease": r.longestLease(),
	})
	if result.Verdict == history.Holds && unknown != "" {
		result.undecide("unknown: porcupine did not finish with key %q", unknown)
	}
	return result, nil
}

// opinion is what the two oracles say of a key's leases.
type opinion struct {
	overlaps []overlap
	answer   porcupine.CheckResult
}

// opinions asks both oracles about each key, several keys at a time.
func (r *run) opinions(second func([]Lease) porcupine.CheckResult) []opinion {
	opinions := make([]opinion, len(r.keys))
	var next atomic.Int64
	ask := func() {
		for i := int(next.Add(1)) - 1; i < len(r.keys); i = int(next.Add(1)) - 1 {
			leases := r.leases[r.keys[i]]
			opinions[i] = opinion{sweep(leases), second(leases)}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(r.keys)) - 1 {
		wg.Go(ask)
	}
	ask()
	wg.Wait()
	return opinions
}

// overlap is two leases that were held at once; first began first.
type overlap struct{ first, second Lease }

// shared is the stretch for which both were held.
func (o overlap) shared() span {
	return span{o.second.From, min(o.first.Until, o.second.Until)}
}

// sweep finds the overlaps of one key's leases. It walks them in the order of
// From and remembers the one that lasts longest so far: a lease overlaps an
// earlier one if and only if it overlaps that. (The stretches of one lease
// never overlap each other.) Each lease is named as the second of at most one
// overlap. Ends are exclusive: leases that touch do not overlap.
func sweep(leases []Lease) []overlap {
	if !slices.IsSortedFunc(leases, byBeginning) {
		leases = slices.Clone(leases)
		slices.SortFunc(leases, byBeginning)
	}
	var found []overlap
	lasting := new(Lease)
	for i := range leases {
		l := &leases[i]
		if l.Until <= l.From {
			continue
		}
		if l.From < lasting.Until {
			found = append(found, overlap{*lasting, *l})
		}
		if l.Until > lasting.Until {
			lasting = l
		}
	}
	return found
}

func byBeginning(a, b Lease) int {
	if a.From != b.From {
		return cmp.Compare(a.From, b.From)
	}
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Client, b.Client), cmp.Compare(a.ID, b.ID))
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
	for _, leases := range r.leases {
		for _, l := range leases {
			best = max(best, l.Until-l.From)
		}
	}
	return best
}
