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
	Brief: func(_ Violation, length string) string { return "free but not granted: " + length },
	judge: func(r *record) (Result, error) { return (&faultTolerance{r}).judge(), nil },
})

// faultTolerance: while the lock is free and a waiting client reaches a healthy majority, some client is granted the
// lock within a bound. A release finishes within Bounds.Release (redis.io, "Liveness property B": as long as the
// majority of nodes are up, clients are able to acquire and release locks).
//
// A client's wait does not count while any client has a usable lease on the key, while the client is stopped or has
// late timers, and while fewer than a majority of its nodes are healthy for it and free of a key that it must wait for
// (see [record.obstructed]). A remaining interval longer than the bound, by the client's clocks, is a violation: the
// lock was available, and no client was granted it.
//
// The bound is Bounds.Grant for a client alone, and Bounds.Grant more for each rival: clients that split the nodes
// between them fail together and retry after a random delay, and in n such rounds one of them very probably wins. It is
// at most Bounds.Free (but not below Bounds.Grant): by then every key of a failed attempt has expired.
type faultTolerance struct{ *record }

func (f *faultTolerance) judge() Result {
	var violations []Violation
	var inTime int
	tested := make([]int64, len(f.keys)) // by key: its last grant that tests the property
	for i, k := range f.keys {
		violations = append(violations, f.ungranted(k)...)
		n, last := f.grantedInTime(k)
		inTime, tested[i] = inTime+n, last
	}
	releases := &releaseBound{f.record}
	violations = append(violations, releases.violations()...)
	measured := f.operations.latencies()
	measured["granted_in_time"] = int64(inTime)
	result := newResult(FaultTolerance, violations, measured)
	unknown := cmp.Or(releases.unknownRelease(), f.keysUnknown)
	switch {
	case result.Verdict != history.Holds:
	case unknown != "":
		result.Undecide(Unknown, "%s", unknown)
	case f.header.Bounds.Grant <= 0:
		result.Undecide(Vacuous, "the history sets no bound for a grant")
	case inTime == 0:
		result.Undecide(Vacuous, "no client that reached a healthy majority tried to acquire a free lock")
	case !f.testedSince(f.firstFault()):
		result.Undecide(Vacuous, "no client acquired or released the lock after the first fault, at %s",
			formatTime(f.firstFault()))
	default:
		for i, k := range f.keys {
			f.requireLaterTest(&result, k, max(f.header.Bounds.Free, f.header.Bounds.Grant), tested[i])
		}
	}
	return result
}

// firstFault is the time of the first fault that is not background; 0: none.
func (f *faultTolerance) firstFault() int64 {
	for _, fault := range f.faults { // ordered by beginning
		if !fault.Background {
			return fault.from
		}
	}
	return 0
}

// testedSince reports whether, since a time, a release ended, or a client was granted the lock within Bounds.Grant of
// its becoming available.
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
			clear := o.span().without(union(k.held, k.unreachable[o.process], f.obstructed(k, w)))
			if n := len(clear); n == 0 || clear[n-1].until < o.done || clear[n-1].length() <= f.header.Bounds.Grant {
				return true
			}
		}
	}
	return false
}

// ungranted finds when a key was available for too long. If several clients saw one, it is reported once, as the first
// of them saw it.
func (f *faultTolerance) ungranted(k *keyed) []Violation {
	bound := f.header.Bounds.Grant
	if bound <= 0 {
		return nil
	}
	all := requestSpans(k.waits)
	var found []Violation
	var reported []span
	taken := k.byClient(func(client string) []span { return union(k.held, k.excused[client]) })
	for _, w := range k.waits {
		// No client held the lock then, and this one reached a healthy majority, not starved.
		for _, free := range w.without(taken[w.client]) {
			if free.length() <= bound {
				continue
			}
			for _, clear := range free.without(f.obstructed(k, w)) {
				tooLong, rivals := f.waitedTooLong(w, clear, all)
				if tooLong.length() == 0 || slices.ContainsFunc(reported, tooLong.overlaps) {
					continue
				}
				found, reported = append(found, f.violation(w, tooLong, rivals)), append(reported, tooLong)
			}
		}
	}
	return found
}

// waitedTooLong returns the longest part of a clear interval that a client waited through for longer than the bound.
func (f *faultTolerance) waitedTooLong(w *waitPeriod, clear span, all []requestSpan) (longest span, rivals int) {
	for _, waited := range w.within(clear) {
		if part, n := f.tooLong(w, waited, all); part.length() > max(longest.length(), f.bound(w, part, n)) {
			longest, rivals = part, n
		}
	}
	return longest, rivals
}

// bound is how long a lock may be available without a grant while a client waits beside that many rivals.
func (f *faultTolerance) bound(w *waitPeriod, during span, rivals int) int64 {
	b := f.header.Bounds
	all := b.Grant * int64(1+rivals)
	if b.Free > 0 {
		all = min(all, max(b.Grant, b.Free))
	}
	return f.scaledBound(all, w.client, during)
}

// tooLong returns the longest part of a clear interval that exceeds the bound for the rivals in that part, with their
// number, or an empty span. A rival that gave up before the part, or began after it, delays no client.
func (f *faultTolerance) tooLong(w *waitPeriod, clear span, all []requestSpan) (longest span, rivals int) {
	if n := w.rivals(all, clear); clear.length() > f.bound(w, clear, n) {
		return clear, n
	}
	begins, ends := []int64{clear.from}, []int64{clear.until}
	var near []requestSpan
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
	ending := "did not acquire it"
	if rivals > 0 {
		ending = fmt.Sprintf("did not acquire it, nor did any other client (%d tried)", rivals)
	}
	return f.uselessWait(w, clear, f.bound(w, clear, rivals), "healthy majority", ending)
}

// grantedInTime counts a key's grants within Bounds.Grant of the lock being free with a healthy majority in reach,
// rivals or not, and returns the time of the last.
func (f *faultTolerance) grantedInTime(k *keyed) (n int, latest int64) {
	busy := k.byClient(func(client string) []span { return union(k.unreachable[client], k.held) })
	for _, o := range k.acquires {
		if !o.leased {
			continue
		}
		clear := o.span().without(busy[o.process])
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
