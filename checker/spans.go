package checker

import (
	"cmp"
	"math"
	"slices"
)

// never is a time that no history reaches. It can be doubled and added to
// without overflow.
const never = math.MaxInt64 / 8

// span is a stretch [from, until) of the true clock.
type span struct{ from, until int64 }

func (s span) length() int64 { return s.until - s.from }

// overlaps reports whether two spans share more than an end.
func (s span) overlaps(other span) bool { return s.from < other.until && other.from < s.until }

// union merges spans into disjoint ones, in order. Empty spans stay as points.
func union(sets ...[]span) []span {
	spans := slices.Concat(sets...)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		merged = merge(merged, s)
	}
	return merged
}

// merge adds a span to disjoint ones of which none begins later.
func merge(merged []span, s span) []span {
	if n := len(merged); n > 0 && s.from <= merged[n-1].until {
		merged[n-1].until = max(merged[n-1].until, s.until)
		return merged
	}
	return append(merged, s)
}

// weighted is a span with a weight of more than 0.
type weighted struct {
	span
	weight int64
}

// weighing gives the stretches in which the spans that are there weigh at least so much together, more than 0.
func weighing(least int64, all []weighted) []span {
	type step struct{ time, by int64 }
	var steps []step
	for _, s := range all {
		steps = append(steps, step{s.from, s.weight}, step{s.until, -s.weight})
	}
	// What ends at a moment ends before what begins then: two that only touch are not there at once.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.by, b.by)) })
	var out []span
	var from, sum int64
	for _, s := range steps {
		before := sum
		sum += s.by
		switch {
		case before < least && sum >= least:
			from = s.time
		case before >= least && sum < least:
			out = merge(out, span{from, s.time})
		}
	}
	return out
}

// without gives what is left of a span between the interruptions, which are
// disjoint and in order. A point cuts a span in two.
func (s span) without(interruptions []span) (left []span) {
	first := reaching(interruptions, s.from)
	from := s.from
	for _, stop := range interruptions[first:] {
		if stop.from >= s.until {
			break
		}
		if stop.from > from {
			left = append(left, span{from, stop.from})
		}
		from = max(from, stop.until)
	}
	if from < s.until {
		left = append(left, span{from, s.until})
	}
	return left
}

// meets reports whether a span shares a moment with one of the disjoint,
// ordered spans; ends count, so that an instant can meet.
func (s span) meets(spans []span) bool {
	i := reaching(spans, s.from)
	return i < len(spans) && spans[i].from <= s.until
}

// reaching gives the index of the first of the disjoint, ordered spans that
// lasts to a time.
func reaching(spans []span, t int64) int {
	i, _ := slices.BinarySearchFunc(spans, t, func(s span, t int64) int { return cmp.Compare(s.until, t) })
	return i
}

// total adds up the lengths of spans.
func total(spans []span) int64 {
	var sum int64
	for _, s := range spans {
		sum += s.length()
	}
	return sum
}

// longest gives the longest span, or an empty one.
func longest(spans []span) span {
	var best span
	for _, s := range spans {
		if s.length() > best.length() {
			best = s
		}
	}
	return best
}
