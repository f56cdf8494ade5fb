package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// An obstacle is a key on a node that other clients must wait for, and that the lock is not to blame for. It is decided
// once for each key until when it is one. Deadlock freedom and fault tolerance use that.

// unseenKey is a key that a lease may have left on a node though no known command set it: a transaction did, for
// example. It lasts from the lease's beginning until it expires by the node's clock. A released lease has none. A SET
// without a reply may have left one as well ([timeline.addUnseen]).
type unseenKey struct {
	span
	node string
}

// tokenLeases are the leases with one token: some locks use one token for all attempts.
type tokenLeases struct {
	held []span
	// lapsed is when the last of them reached its deadline; 0: it ended in another way.
	lapsed int64
}

// findObstacles decides until when each key is an obstacle, and finds the setbacks.
func (r *record) findObstacles(k *keyed) {
	leases := r.readLeases(k)
	for _, h := range k.ownerships {
		l := leases[h.token]
		if h.excused = r.excusedUntil(h, l); h.excused > h.from {
			k.setbacks = append(k.setbacks, r.renewals(h, l)...)
		}
	}
	k.setbacks = union(k.setbacks)
}

// readLeases returns the leases on a key by token, and finds the unseen keys.
func (r *record) readLeases(k *keyed) map[string]tokenLeases {
	seen, leases := map[string]bool{}, map[string]tokenLeases{}
	for _, h := range k.ownerships {
		seen[h.token] = true
	}
	for _, l := range k.leases { // in the order of from
		token := l.grant.token
		if !seen[token] && l.ended != EndedRelease {
			basis := r.basis(l, l.until)
			for _, node := range r.nodesOf(l.client) {
				expires := r.clocks.wall[node].timeAfter(r.ownTTL(l.client), basis.done, int(basis.end))
				k.unseen = append(k.unseen, unseenKey{span{l.from, max(l.from, expires)}, node})
			}
		}
		if token == "" {
			continue
		}
		updated := tokenLeases{held: merge(leases[token].held, l.span)}
		if l.ended == EndedDeadline {
			updated.lapsed = l.until
		}
		leases[token] = updated
	}
	return leases
}

// excusedUntil returns until when a key is an obstacle. It is one as long as it is there in four cases: its owner is
// unknown; it overlaps a lease with its token; it appears after such a lease has reached its deadline, as on a node
// that was paused; or its command was held up for a TTL. The latter two do not excuse a key that took the place of
// another client's: a lock must not overwrite one. Otherwise it is one while a fault keeps its owner from
// deleting it: a killed owner never can, one that is cut off can when the link heals. Without such a fault the key of a
// failed attempt is not an obstacle: the lock must delete it.
func (r *record) excusedUntil(h *keyOwnership, l tokenLeases) int64 {
	switch {
	case h.owner == "", h.span.touches(l.held),
		!h.overwrites && (l.lapsed > 0 && h.from >= l.lapsed || r.heldTooLong(h.owner, h.node, h.from)):
		return h.until
	}
	until := h.from
	for _, f := range r.interferingFaults(h) {
		until = max(until, f.possible().until)
	}
	return min(h.until, until)
}

// interferingFaults returns the faults that may have kept a key's owner from its node while the key was there.
func (r *record) interferingFaults(h *keyOwnership) []fault {
	owner, node, there := h.owner, h.node, h.span
	var found []fault
	for _, f := range r.faults {
		between := f.link == history.Link{From: owner, To: node} && f.Class.DisturbsLink() &&
			!r.harmlessDelay(f) && !r.overlapsBriefly(f, there) && !f.dropsSetReply()
		stopped := f.target == owner && f.Class.StopsClient()
		nodeFault := f.target == node && f.Class.StopsNode() && there.touches(r.nodeFaultSpans(f, owner))
		if nodeFault || (between || stopped) && there.touches([]span{f.possible()}) {
			found = append(found, f)
		}
	}
	return found
}

// renewals returns when an obstacle may stay beyond the scenario's TTL. Each is a point if its own TTL is not longer:
// from then on the key may last a TTL. One begins when the key is set, with each extension during its lease, with each
// extension by its owner that a fault delayed, and when its node's clock is set. If the bound is shorter than a TTL, a
// lease that reaches its deadline adds the time until its key expires.
func (r *record) renewals(h *keyOwnership, l tokenLeases) []span {
	found := []span{r.beyondTTL(h, h.from, int(h.set))}
	if r.header.Bounds.Free < r.header.TTL && h.from < l.lapsed && l.lapsed < h.until {
		found = append(found, span{l.lapsed, min(h.until, max(l.lapsed, r.expiryKnownAt(h, l.lapsed)))})
	}
	for _, p := range r.prolonged[h] {
		then := span{p.time, p.time}
		if then.touches(l.held) || p.process == h.owner && slices.ContainsFunc(r.interferingFaults(h),
			func(f fault) bool { return then.touches([]span{f.possible()}) }) {
			found = append(found, r.beyondTTL(h, p.time, p.event))
		}
	}
	for _, set := range r.clocks.wall[h.node] {
		if h.from < set.from && set.from < h.until {
			found = append(found, span{set.from, set.from})
		}
	}
	return found
}

// expiryKnownAt is when a key expires if nothing extends it after a time.
func (r *record) expiryKnownAt(h *keyOwnership, t int64) int64 {
	last := moment{event: int(h.set), time: h.from}
	for _, p := range r.prolonged[h] {
		if p.time <= t {
			last = p
		}
	}
	return r.clocks.wall[h.node].timeAfter(r.ownTTL(h.owner), last.time, last.event)
}

// beyondTTL is how much longer than the scenario's TTL a key may stay that an event set or extended. The bounds assume
// that TTL, but the client's own may be longer, or the node's clock may be slow. A clock that jumped back does not
// count: it heals at once, and the key that it leaves is what the property judges.
func (r *record) beyondTTL(h *keyOwnership, t int64, event int) span {
	excess := r.clocks.wall[h.node].withoutJumps().timeAfter(r.ownTTL(h.owner), t, event) - t - r.header.TTL
	return span{t, min(h.until, t+max(0, excess))}
}

// ownTTL is a client's TTL, or the scenario's if that is longer.
func (r *record) ownTTL(client string) int64 {
	return max(r.header.TTL, r.header.ClientTTLs[client])
}

// obstructed returns the intervals of a client's wait in which too few nodes of its list were both healthy for it and
// free of an obstacle.
func (r *record) obstructed(k *keyed, w *waitPeriod) []span {
	return r.blocked(w.client, k, false, func(node string) []span {
		spans := r.unhealthy(w.client, node)
		for _, h := range k.ownerships {
			if h.node == node && h.excused > h.from && h.from < w.until && h.until > w.from {
				spans = append(spans, span{h.from, h.excused})
			}
		}
		for _, u := range k.unseen {
			if u.node == node {
				spans = append(spans, u.span)
			}
		}
		return spans
	})
}

// othersKeys returns when other clients' keys were on enough nodes to block a client for certain, whatever the reason.
func (r *record) othersKeys(k *keyed, client string) []span {
	return r.blocked(client, k, true, func(node string) (there []span) {
		for _, h := range k.ownerships {
			if h.node == node && h.owner != client {
				there = append(there, h.span)
			}
		}
		return there
	})
}

// setbacksOf returns the setbacks of a client's wait for a key: the renewals of obstacles. If the history shows no keys
// on the nodes, they are the ends of other clients' attempts without a lease, which may have left keys.
func (k *keyed) setbacksOf(client string) []span {
	if len(k.ownerships) > 0 {
		return k.setbacks
	}
	var found []span
	for _, o := range k.acquires {
		if o.process != client && (o.outcome == indefinite || o.endedWithoutLease(0)) {
			found = append(found, span{o.done, o.done})
		}
	}
	return found
}

// lateTakeovers returns the moments at which another owner's key appeared on a node outside that owner's acquires: its
// command was late, or the node came back with the key. From then on it may take a TTL until the key is free.
func (k *keyed) lateTakeovers(during span, client string) []span {
	var points []span
	for _, h := range k.ownerships {
		acquiring := func(o *operation) bool { return o.process == h.owner && o.invoked <= h.from && h.from <= o.done }
		if h.owner != client && !h.overwrites && h.from > during.from && h.from < during.until &&
			!slices.ContainsFunc(k.acquires, acquiring) {
			points = append(points, span{h.from, h.from})
		}
	}
	return union(points)
}
