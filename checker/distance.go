package checker

import (
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
	return !slices.ContainsFunc(r.slow(f.link), f.possible().overlaps)
}

// slow gives the stretches for which faults delayed a link by so much that a node behind
// it is not healthy: what is sent there and back is late by the sum of its delays, twice.
// What belongs to the scenario's setting does not count.
func (r *record) slow(link history.Link) []span {
	var delays []weighted
	for _, f := range r.faults {
		if f.link != link || f.class != history.LinkSlow || f.cause.Background {
			continue
		}
		by := f.cause.Delay
		if by <= 0 { // it is not known by how much
			by = r.prompt()
		}
		if by > 0 {
			delays = append(delays, weighted{f.possible(), by})
		}
	}
	return weighing(max(1, (r.prompt()+1)/2), delays)
}
