package checker

import (
	"cmp"
	"slices"
	"sort"
)

// setback is a stretch in which a key is in the way that a lock may leave there, beyond the
// TTL of the scenario; a point, if its own TTL is no longer: from then on it may take a TTL.
type setback struct {
	span
	client  string // it is none for this client
	longest int64  // until when the longest of those up to this one lasts
}

// setbacks gives a key's, in the order of their beginnings. Where the history tells of the keys
// on the nodes, these are the keys that a client has to wait for (see [obstacles]); else the ends
// of all attempts of others without a lease, which may have left something behind.
func (k *keyed) setbacks(a *analysis) []setback {
	var found []setback
	if len(k.tenures) > 0 {
		inTheWay := k.obstacles()
		for _, h := range k.tenures {
			if there := inTheWay.excused(h); there.until > there.from {
				found = append(found, setback{span: span{h.from, min(h.until, h.from+a.excess(h, h.from, int(h.set)))}})
				for _, p := range a.prolonged[h] {
					if !inTheWay.duly(h, p.time) {
						continue
					}
					found = append(found, setback{span: span{p.time, min(h.until, p.time+a.excess(h, p.time, p.event))}})
				}
				for _, set := range a.clocks.wall[h.node] { // by which the key has another time to live
					if h.from < set.from && set.from < h.until {
						found = append(found, setback{span: span{set.from, set.from}})
					}
				}
			}
		}
	} else {
		for _, o := range k.acquires {
			if o.outcome == indefinite || o.fruitless(0) {
				found = append(found, setback{span: span{o.done, o.done}, client: o.process})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b setback) int { return cmp.Compare(a.from, b.from) })
	longest := int64(-1)
	for i := range found {
		longest = max(longest, found[i].until)
		found[i].longest = longest
	}
	return found
}

// excess is by how much a key that an event set or extended then stays longer than the TTL of the
// scenario, for which the bounds are: its client's own TTL is longer, or its node's clock runs slow.
// A clock that jumped back is healed at once, and what it leaves is what the property is about.
func (a *analysis) excess(h *keyOwnership, t int64, event int) int64 {
	return max(0, a.clocks.wall[h.node].withoutJumps().when(a.ownTTL(h.owner), t, event)-t-a.header.TTL)
}

// ownTTL is that of a client, or the scenario's if that is longer.
func (a *analysis) ownTTL(client string) int64 {
	return max(a.header.TTL, a.header.ClientTTLs[client])
}

// duringWait gives the setbacks that may touch a wait, as spans.
func duringWait(all []setback, w *waitPeriod) []span {
	first := sort.Search(len(all), func(i int) bool { return all[i].from >= w.from })
	var spans []span
	for i := first - 1; i >= 0 && all[i].longest > w.from; i-- {
		if s := all[i]; s.until > w.from && s.client != w.client {
			spans = append(spans, s.span)
		}
	}
	for _, s := range all[first:] {
		if s.from > w.until {
			break
		}
		if s.client != w.client {
			spans = append(spans, s.span)
		}
	}
	return union(spans)
}

// taken gives the moments of a stretch at which others than a client came to own the
// key on a node without asking for it then, by a command that was late or as the node
// came back with what it knew: from then on it may take a TTL until it is free.
func (k *keyed) taken(during span, client string) []span {
	var points []span
	for _, h := range k.tenures {
		asks := func(o *operation) bool { return o.process == h.owner && o.asked <= h.from && h.from <= o.done }
		if h.owner != client && h.from > during.from && h.from < during.until && !slices.ContainsFunc(k.acquires, asks) {
			points = append(points, span{h.from, h.from})
		}
	}
	return union(points)
}
