package checker

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/harness/history"
)

// FaultTolerance is the name of a property.
const FaultTolerance = "fault-tolerance"

var _ = declare(Property{
	Name: FaultTolerance,
	Meaning: "if the lock is free and a client reaches a healthy majority, some client acquires it within a bound; " +
		"releases finish within a bound",
	Place: 5,
	Timed: true, Keys: true,
	Brief: func(_ Violation, length string) string { return "free, and yet not granted: " + length },
	judge: func(a *analysis, _ oracles) (Result, error) { return (&faultTolerance{a}).judge(), nil },
})

// faultTolerance: while a client that asks can reach a healthy majority and nobody holds
// the lock, somebody is granted it within a bound, rivals or not; and a release is done
// within Bounds.Release (redis.io, "Liveness property B": as long as the majority of nodes
// are up, clients are able to acquire and release locks).
//
// The asking of a client is cut by every lease on the key, and by the stretches for
// which fewer than a majority of the nodes were healthy for it and free of a key that it
// has to wait for (see [analysis.obstructed]). A remaining stretch longer than the bound is a
// violation: the lock was there for the taking, and nobody was granted it.
//
// The bound is Bounds.Grant for a client that asks alone. Among rivals it is Bounds.Grant
// for each of them: clients that split the nodes between them fail together and try again
// after a random time, and of n rounds, one by one, somebody wins one in all likelihood;
// but no more than Bounds.Free, in which whatever a failed attempt has left expires.
type faultTolerance struct{ *analysis }

func (f *faultTolerance) judge() Result {
	var violations []Violation
	var inTime int
	tested := make([]int64, len(f.keys)) // when the last grant of each key put the property to the test
	for i, k := range f.keys {
		violations = append(violations, f.ungranted(k)...)
		n, last := f.grantedInTime(k)
		inTime, tested[i] = inTime+n, last
	}
	releases := &releaseBound{f.analysis}
	violations = append(violations, releases.violations()...)
	measured := f.operations.latencies()
	measured["granted_in_time"] = int64(inTime)
	result := newResult(FaultTolerance, violations, measured)
	doubt := cmp.Or(releases.doubt(), f.doubt)
	switch {
	case result.Verdict != history.Holds:
	case doubt != "":
		result.Undecide(Unknown, "%s", doubt)
	case f.header.Bounds.Grant <= 0:
		result.Undecide(Vacuous, "the run states no bound for a grant")
	case inTime == 0:
		result.Undecide(Vacuous, "nobody asked for a free lock with a healthy majority in reach")
	case !f.testedSince(f.firstFault()):
		result.Undecide(Vacuous, "nobody was granted the lock, or released it, after the first fault, at %s",
			formatTime(f.firstFault()))
	default:
		for i, k := range f.keys {
			f.testedBefore(&result, k, max(f.header.Bounds.Free, f.header.Bounds.Grant), tested[i])
		}
	}
	return result
}

// firstFault is when the script did the first of its faults; 0: it has none.
func (f *faultTolerance) firstFault() int64 {
	for _, fault := range f.faults { // in the order of their beginnings
		if !fault.cause.Background {
			return fault.from
		}
	}
	return 0
}

// testedSince reports whether since a time somebody released the lock, or was granted it within the
// bound after it was there for the taking.
func (f *faultTolerance) testedSince(t int64) bool {
	if slices.ContainsFunc(f.operations.kept, func(o *operation) bool {
		return o.op == history.OpRelease && o.outcome != underWay && o.done >= t
	}) {
		return true
	}
	for _, k := range f.keys {
		for _, w := range k.waits {
			o := w.last()
			if !o.leased || o.done < t {
				continue
			}
			clear := span{o.asked, o.done}.without(union(k.held, k.unreachable[o.process], f.obstructed(k, w)))
			if n := len(clear); n == 0 || clear[n-1].until < o.done || clear[n-1].length() <= f.header.Bounds.Grant {
				return true
			}
		}
	}
	return false
}

// ungranted finds the stretches for which a key was there for the taking for too long.
// One that several clients saw is told of once, as the first of them saw it.
func (f *faultTolerance) ungranted(k *keyed) []Violation {
	bound := f.header.Bounds.Grant
	if bound <= 0 {
		return nil
	}
	all := askedSpans(k.waits)
	var found []Violation
	var told []span
	taken := k.byClient(func(client string) []span { return union(k.held, k.excused[client]) })
	for _, w := range k.waits {
		// Nobody held the lock then, and the client reached a healthy majority, not starved.
		for _, free := range w.without(taken[w.client]) {
			if free.length() <= bound {
				continue
			}
			for _, clear := range free.without(f.obstructed(k, w)) {
				tooLong, rivals := f.waitedTooLong(w, clear, all)
				if tooLong.length() == 0 || slices.ContainsFunc(told, tooLong.overlaps) {
					continue
				}
				found, told = append(found, f.violation(w, tooLong, rivals)), append(told, tooLong)
			}
		}
	}
	return found
}

// waitedTooLong gives the longest part of a clear stretch in which a client waited for longer
// than the bound.
func (f *faultTolerance) waitedTooLong(w *waitPeriod, clear span, all []asked) (longest span, rivals int) {
	for _, waited := range w.within(clear) {
		if part, n := f.tooLong(w, waited, all); part.length() > max(longest.length(), f.bound(w, part, n)) {
			longest, rivals = part, n
		}
	}
	return longest, rivals
}

// bound is how long a lock may be there for the taking while a client asks for it in a stretch
// beside so many rivals.
func (f *faultTolerance) bound(w *waitPeriod, during span, rivals int) int64 {
	b := f.header.Bounds
	all := b.Grant * int64(1+rivals)
	if b.Free > 0 {
		all = min(all, max(b.Grant, b.Free))
	}
	return f.bounded(all, w.client, during)
}

// tooLong gives the longest part of a clear stretch that is longer than the bound for as
// many rivals as ask in it, with their number; an empty one if there is none. A rival
// that had given up before, or asked only afterwards, delays nobody.
func (f *faultTolerance) tooLong(w *waitPeriod, clear span, all []asked) (longest span, rivals int) {
	if n := w.rivals(all, clear); clear.length() > f.bound(w, clear, n) {
		return clear, n
	}
	begins, ends := []int64{clear.from}, []int64{clear.until}
	var near []asked
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
			if n := w.rivals(near, part); part.length() > f.bound(w, part, n) {
				longest, rivals = part, n
			}
		}
	}
	return longest, rivals
}

func (f *faultTolerance) violation(w *waitPeriod, clear span, rivals int) Violation {
	client, key := w.client, w.attempts[0].key
	nobody := "it was not granted it"
	if rivals > 0 {
		nobody = fmt.Sprintf("neither it nor its rivals (%d) were granted it", rivals)
	}
	return Violation{
		Key: key, From: clear.from, Until: clear.until, Processes: []string{client},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q though the lock was free and a healthy majority in reach: "+
			"it asked "+
			"at %s; %s from %s to %s",
			client, formatDuration(clear.length()), formatDuration(f.bound(w, clear, rivals)), key, formatTime(w.from), nobody,
			formatTime(clear.from), formatTime(clear.until)),
		facts: func() []Fact { return f.waitFacts(client, key, clear) },
	}
}

// grantedInTime counts the grants of a key that came within the bound after the lock was free and
// a healthy majority in reach, and says when the last of them was; competitors may have been there.
func (f *faultTolerance) grantedInTime(k *keyed) (n int, latest int64) {
	busy := k.byClient(func(client string) []span { return union(k.unreachable[client], k.held) })
	for _, o := range k.acquires {
		if !o.leased {
			continue
		}
		clear := span{o.asked, o.done}.without(busy[o.process])
		if len(clear) == 0 {
			continue
		}
		last := clear[len(clear)-1]
		if last.until == o.done && last.length() <= f.header.Bounds.Grant {
			n++
			latest = max(latest, o.done)
		}
	}
	return n, latest
}
