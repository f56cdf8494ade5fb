package checker

import (
	"cmp"
	"slices"

	"example.org/lockproof/harness/history"
)

// never is a time that no history reaches. It can be doubled and added to without overflow.
const never = history.MaxTime + 1

// span is an interval [from, until) of the true clock.
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

// merge adds a span to disjoint spans, none of which begins later.
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

// spansWeighing returns when the overlapping spans weigh at least minWeight together, which is above 0.
func spansWeighing(minWeight int64, all []weighted) []span {
	type step struct{ time, by int64 }
	var steps []step
	for _, s := range all {
		steps = append(steps, step{s.from, s.weight}, step{s.until, -s.weight})
	}
	// Ends come before beginnings at the same moment: two spans that only touch do not overlap.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.by, b.by)) })
	var out []span
	var from, sum int64
	for _, s := range steps {
		before := sum
		sum += s.by
		switch {
		case before < minWeight && sum >= minWeight:
			from = s.time
		case before >= minWeight && sum < minWeight:
			out = merge(out, span{from, s.time})
		}
	}
	return out
}

// without returns what is left of a span between the interruptions, which are disjoint and ordered. A point cuts a span
// in two.
func (s span) without(interruptions []span) (left []span) {
	first := firstReaching(interruptions, s.from)
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

// touches reports whether a span shares a moment with one of the disjoint, ordered spans. Ends count, so an instant can
// touch.
func (s span) touches(spans []span) bool {
	i := firstReaching(spans, s.from)
	return i < len(spans) && spans[i].from <= s.until
}

// firstReaching returns the index of the first of the disjoint, ordered spans that ends at a time or later.
func firstReaching(spans []span, t int64) int {
	i, _ := slices.BinarySearchFunc(spans, t, func(s span, t int64) int { return cmp.Compare(s.until, t) })
	return i
}

func total(spans []span) int64 {
	var sum int64
	for _, s := range spans {
		sum += s.length()
	}
	return sum
}

// longest returns the longest span, or an empty one.
func longest(spans []span) span {
	var best span
	for _, s := range spans {
		if s.length() > best.length() {
			best = s
		}
	}
	return best
}
