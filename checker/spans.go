package checker

import (
	"math"
	"slices"
	"sort"
)

// never is a time that no history reaches. It can be doubled and added to
// without overflow.
const never = math.MaxInt64 / 8

// span is a stretch [from, until) of the true clock.
type span struct{ from, until int64 }

func (s span) length() int64 { return s.until - s.from }

// union merges spans into disjoint ones, in order. Empty spans stay as points.
func union(spans []span) []span {
	spans = slices.Clone(spans)
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.from <= merged[n-1].until {
			merged[n-1].until = max(merged[n-1].until, s.until)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// covered gives the stretches in which at least k of the sets cover the time.
func covered(k int, sets [][]span) []span {
	type step struct {
		time int64
		by   int
	}
	var steps []step
	for _, set := range sets {
		for _, s := range union(set) {
			if s.length() > 0 {
				steps = append(steps, step{s.from, 1}, step{s.until, -1})
			}
		}
	}
	sort.Slice(steps, func(i, j int) bool {
		if steps[i].time != steps[j].time {
			return steps[i].time < steps[j].time
		}
		return steps[i].by > steps[j].by // what touches is one stretch
	})
	var out []span
	depth := 0
	for _, s := range steps {
		before := depth
		depth += s.by
		switch {
		case before < k && depth >= k:
			out = append(out, span{from: s.time})
		case before >= k && depth < k:
			out[len(out)-1].until = s.time
		}
	}
	return out
}

// without gives what is left of a span between the interruptions, which are
// disjoint and in order. A point cuts a span in two.
func (s span) without(interruptions []span) []span {
	first := sort.Search(len(interruptions), func(i int) bool { return interruptions[i].until >= s.from })
	var left []span
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
	i := sort.Search(len(spans), func(i int) bool { return spans[i].until >= s.from })
	return i < len(spans) && spans[i].from <= s.until
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
