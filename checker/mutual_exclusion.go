package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"example.org/lockproof/harness/history"
)

// MutualExclusion is the name of a property.
const MutualExclusion = "mutual-exclusion"

var _ = declare(Property{
	Name:    MutualExclusion,
	Meaning: "no two clients believe at once that they hold the lock",
	Place:   1,
	Brief: func(v Violation, length string) string {
		if len(v.Processes) != 2 {
			return "violated: " + length
		}
		return fmt.Sprintf("%s and %s both hold it: %s", v.Processes[0], v.Processes[1], length)
	},
	judge: func(r *record) (Result, error) { return (&mutualExclusion{r}).judge() },
})

// mutualExclusion: no two leases on one key overlap on the true clock (redis.io, "Safety property: mutual exclusion").
// Two oracles judge each key: a sweep over the leases, and porcupine. If they disagree, there is no verdict at all.
type mutualExclusion struct{ *record }

func (m *mutualExclusion) judge() (Result, error) {
	var violations []Violation
	var leases int
	var lasting int64
	unknown := ""
	for _, k := range m.keys {
		overlaps, answer := sweep(k.leases), m.second.mutex(k.leases)
		if err := compareOracles(MutualExclusion, k.name, len(overlaps) > 0, answer); err != nil {
			return Result{}, err
		}
		if answer == porcupine.Unknown {
			unknown = k.name
		}
		leases += len(k.leases)
		for _, l := range k.leases {
			lasting = max(lasting, l.length())
		}
		for _, o := range overlaps {
			violations = append(violations, m.violation(o))
		}
	}
	result := newResult(MutualExclusion, violations, map[string]int64{
		"grants": int64(m.counts.grants), "leases": int64(leases),
		"contended": int64(m.counts.contended), "longest_lease": lasting,
	})
	if result.Verdict == history.Holds && unknown != "" {
		result.Undecide(Unknown, "porcupine did not finish with key %q", unknown)
	}
	return result, nil
}

// overlap is a pair of leases that were held at once; first began first.
type overlap struct{ first, second lease }

// shared is when both were held.
func (o overlap) shared() span {
	return span{o.second.from, min(o.first.until, o.second.until)}
}

// sweep finds the overlaps of one key's leases. It walks them ordered by beginning and keeps the one with the latest
// end so far: a lease overlaps an earlier one if and only if it overlaps that one. (The intervals of one lease never
// overlap each other.) Each lease is the second of at most one overlap. Ends are exclusive: leases that touch do not
// overlap.
func sweep(leases []lease) []overlap {
	byBeginning := func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until), cmp.Compare(a.client, b.client),
			cmp.Compare(a.grant.id, b.grant.id))
	}
	var found []overlap
	var lasting lease
	for _, l := range slices.SortedFunc(slices.Values(leases), byBeginning) {
		if l.until <= l.from {
			continue
		}
		if l.from < lasting.until {
			found = append(found, overlap{lasting, l})
		}
		if l.until > lasting.until {
			lasting = l
		}
	}
	return found
}

func (m *mutualExclusion) violation(o overlap) Violation {
	shared, first, second := o.shared(), o.first.result(), o.second.result()
	how := "was granted"
	if second.From > o.second.grant.done { // its earlier lease on the key had ended
		how = "extended its lease on"
	}
	return Violation{
		Key: second.Key, From: shared.from, Until: shared.until,
		Processes: []string{first.Client, second.Client},
		What: fmt.Sprintf("%s %s %q at %s while %s still held it, %s: both held it for %s",
			second.Client, how, second.Key, formatTime(second.From), first.Client, untilEnd(first.Until),
			formatDuration(shared.length())),
		Leases: []Lease{first, second},
		facts:  func() []Fact { return m.overlapFacts(o) },
	}
}
