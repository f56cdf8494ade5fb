package checker

import (
	"cmp"
	"slices"

	"example.org/lockproof/harness/history"
)

// far reports whether a fault is a distance that leaves a node healthy: it belongs to
// the scenario's setting, or is small against the bounds, also with what else slows the
// link at the time.
func (r *record) far(f fault) bool {
	if f.class != history.LinkSlow {
		return false
	}
	if f.cause.Background {
		return true
	}
	whole := f.possible()
	return !slices.ContainsFunc(r.slow(f.link),
		func(s span) bool { return s.from < whole.until && whole.from < s.until })
}

// slow gives the stretches for which faults delayed a link by so much that a node behind
// it is not healthy: what is sent there and back is late by the sum of its delays, twice.
// What belongs to the scenario's setting does not count.
func (r *record) slow(link history.Link) []span {
	type step struct{ time, by int64 }
	var steps []step
	for _, f := range r.faults {
		if f.link != link || f.class != history.LinkSlow || f.cause.Background {
			continue
		}
		by := f.cause.Delay
		if by <= 0 { // it is not known by how much
			by = r.prompt()
		}
		whole := f.possible()
		steps = append(steps, step{whole.from, by}, step{whole.until, -by})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.time, b.time) })
	var spans []span
	var sum int64
	for i, s := range steps {
		sum += s.by
		if i+1 < len(steps) && steps[i+1].time > s.time && sum > 0 && 2*sum >= r.prompt() {
			spans = append(spans, span{s.time, steps[i+1].time})
		}
	}
	return union(spans)
}
