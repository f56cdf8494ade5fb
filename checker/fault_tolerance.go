package checker

import (
	"fmt"
	"slices"

	"lockproof/harness/history"
)

// FaultTolerance is the name of a property.
const FaultTolerance = "fault-tolerance"

var _ = declare(Property{
	Name: FaultTolerance,
	Meaning: "while a client that asks reaches a healthy majority and nobody holds the lock, somebody is granted it " +
		"within a stated bound, and a release is done within one",
	Place: 5,
	Brief: func(_ Violation, length string) string { return "free, and yet not granted: " + length },
	Figures: []Figure{
		{"acquire_p50", "median acquire", true}, {"acquire_p99", "99th percentile", true},
		{"grants", "grants", false}, {"longest_gap", "longest gap", true},
	},
	judge: func(a *analysis, b *blamer, _ oracles) (Result, error) { return (&faultTolerance{a, b}).judge(), nil },
})

// faultTolerance: while a client that asks can reach a healthy majority and nobody holds
// the lock, somebody is granted it within a bound, rivals or not; and a release is done
// within Bounds.Release (redis.io, "Liveness property B": as long as the majority of nodes
// are up, clients are able to acquire and release locks).
//
// The asking of a client is cut by every lease on the key, and by the stretches for
// which fewer than a majority of the nodes were healthy for it and free of a key that it
// has to wait for (see [obstacles]). A remaining stretch longer than the bound is a
// violation: the lock was there for the taking, and nobody was granted it.
//
// The bound is Bounds.Grant for a client that asks alone. Among rivals it is Bounds.Grant
// for each of them: clients that split the nodes between them fail together and try again
// after a random time, and of n rounds, one by one, somebody wins one in all likelihood;
// but no more than Bounds.Free, in which whatever a failed attempt has left expires.
type faultTolerance struct {
	*analysis
	blamer *blamer
}

func (f *faultTolerance) judge() Result {
	var violations []Violation
	for _, k := range f.keys {
		violations = append(violations, f.ungranted(k, len(violations))...)
	}
	releases := releaseBound{f.analysis, f.blamer}
	violations = append(violations, releases.violations(len(violations))...)
	inTime := f.grantedInTime()
	measured := f.operations.latencies()
	measured["granted_in_time"] = int64(inTime)
	measured["longest_gap"] = f.operations.longestGap().length()
	result := settle(FaultTolerance, violations, measured)
	switch {
	case result.Verdict != history.Holds:
	case f.header.Bounds.Grant <= 0:
		result.undecide(Vacuous, "the run states no bound for a grant")
	case inTime == 0:
		result.undecide(Vacuous, "nobody asked for a free lock with a healthy majority in reach")
	}
	return result
}

// ungranted finds the stretches for which a key was there for the taking for too long.
// One that several clients saw is told of once, as the first of them saw it.
func (f *faultTolerance) ungranted(k *keyed, known int) []Violation {
	bound := f.header.Bounds.Grant
	if bound <= 0 {
		return nil
	}
	all := k.askings(bound / breath)
	asking := all
	if len(k.tenures) > 0 {
		asking = slices.Concat(all, k.askingsAnew(bound))
	}
	held := spansOf(k.leases)
	var inTheWay *obstacles
	var found []Violation
	var told span
	for _, w := range asking {
		if w.length() <= bound {
			continue
		}
		for _, free := range f.free(w, held) {
			if inTheWay == nil {
				inTheWay = f.obstacles(k)
			}
			for _, clear := range free.without(inTheWay.during(w)) {
				tooLong, rivals := f.tooLong(w, clear, all)
				if w.anew {
					tooLong = k.tried(w.client, tooLong, bound)
				}
				if tooLong.length() <= f.bound(rivals) || tooLong.overlaps(told) {
					continue
				}
				if w.anew && slices.ContainsFunc(found, func(v Violation) bool { return tooLong.overlaps(span{v.From, v.Until}) }) {
					continue
				}
				found, told = append(found, f.violation(w, tooLong, rivals, known+len(found))), tooLong
			}
		}
	}
	return found
}

// bound is how long a lock may be there for the taking while a client asks for it
// beside so many rivals.
func (f *faultTolerance) bound(rivals int) int64 {
	b := f.header.Bounds
	all := b.Grant * int64(1+rivals)
	if b.Free > 0 {
		all = min(all, max(b.Grant, b.Free))
	}
	return all
}

// tooLong gives the longest part of a clear stretch that is longer than the bound for as
// many rivals as ask in it, with their number; an empty one if there is none. A rival
// that had given up before, or asked only afterwards, delays nobody.
func (f *faultTolerance) tooLong(w asking, clear span, all []asking) (longest span, rivals int) {
	if n := w.rivals(all, clear); clear.length() > f.bound(n) {
		return clear, n
	}
	begins, ends := []int64{clear.from}, []int64{clear.until}
	var near []asking
	for _, other := range all {
		if other.client == w.client || other.until <= clear.from || other.from >= clear.until {
			continue
		}
		near = append(near, other)
		begins, ends = append(begins, max(clear.from, other.until)), append(ends, min(clear.until, other.from))
	}
	for _, from := range begins {
		for _, until := range ends {
			part := span{from, until}
			if part.length() <= max(longest.length(), f.header.Bounds.Grant) {
				continue
			}
			if n := w.rivals(near, part); part.length() > f.bound(n) {
				longest, rivals = part, n
			}
		}
	}
	return longest, rivals
}

// free gives the stretches of a client's asking, longer than the bound for one that asks
// alone, in which nobody held the lock and the client reached a healthy majority.
func (f *faultTolerance) free(w asking, held []span) []span {
	var found []span
	for _, free := range w.without(held) {
		if free.length() <= f.header.Bounds.Grant {
			continue
		}
		for _, connected := range free.without(f.unreachable[w.client]) {
			if connected.length() > f.header.Bounds.Grant {
				found = append(found, connected)
			}
		}
	}
	return found
}

func (f *faultTolerance) violation(w asking, clear span, rivals int, index int) Violation {
	client, key := f.name(w.client), f.name(w.first.key)
	nobody := "it was not granted it"
	if rivals > 0 {
		nobody = fmt.Sprintf("neither it nor its rivals (%d) were granted it", rivals)
	}
	v := Violation{
		Key: key, From: clear.from, Until: clear.until, Processes: []string{client},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q though the lock was free and a healthy majority in reach: it asked "+
			"at %s; %s from %s to %s",
			client, lasting(clear.length()), lasting(f.bound(rivals)), key, at(w.from), nobody, at(clear.from), at(clear.until)),
	}
	if index < maxViolations {
		v.Blame = f.blamer.forUnavailable(w, clear)
	}
	return v
}

// grantedInTime counts the grants that came within the bound after the lock
// was free and a healthy majority in reach; competitors may have been there.
func (f *faultTolerance) grantedInTime() int {
	inTime := make([]int, len(f.keys))
	sideBySide(len(f.keys), func(i int) { inTime[i] = f.grantedInTimeOn(f.keys[i]) })
	total := 0
	for _, n := range inTime {
		total += n
	}
	return total
}

func (f *faultTolerance) grantedInTimeOn(k *keyed) int {
	leases := spansOf(k.leases)
	n := 0
	var clear []span
	busy := perClient{}
	for _, o := range k.acquires {
		if !o.ok() {
			continue
		}
		own := busy.of(o.process, func() []span {
			if unreachable := f.unreachable[o.process]; len(unreachable) > 0 {
				return unionInto(nil, unreachable, leases)
			}
			return leases
		})
		clear = span{o.asked, o.done}.appendWithout(clear[:0], own)
		if len(clear) == 0 {
			continue
		}
		last := clear[len(clear)-1]
		if last.until == o.done && last.length() <= f.header.Bounds.Grant {
			n++
		}
	}
	return n
}
