package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// Of each key on a node it is asked once until when it is an obstacle: something that others have
// to wait for, and that the lock is not to blame for. Deadlock freedom and fault tolerance go by it.

// unseenKey is what a lease may have left on a node whose keys no command is known to have set, but
// a transaction, say: they were set at a time and expire by their nodes' clocks, unless its holder
// released it.
type unseenKey struct {
	span
	node string
}

// tokenLeases are the leases with one token: some locks have one for all attempts.
type tokenLeases struct {
	held []span
	// lapsed is when the last of them ran out, and nobody asked the lock for anything any more; 0:
	// it ended in some other way.
	lapsed int64
}

// findObstacles tells of a key on all nodes until when it is an obstacle, and finds its setbacks.
func (a *analysis) findObstacles(k *keyed) {
	leases := a.readLeases(k)
	for _, h := range k.tenures {
		l := leases[h.token]
		if h.excused = a.excusedUntil(h, l); h.excused > h.from {
			k.setbacks = append(k.setbacks, a.renewals(h, l)...)
		}
	}
	k.setbacks = union(k.setbacks)
}

// readLeases gives the leases on a key by token, and finds the keys that no command is known to have set.
func (a *analysis) readLeases(k *keyed) map[string]tokenLeases {
	seen, leases := map[string]bool{}, map[string]tokenLeases{}
	for _, h := range k.tenures {
		seen[h.token] = true
	}
	for _, l := range k.leases { // in the order of from
		token := l.grant.keyToken
		if !seen[token] && l.ended != EndedRelease {
			basis := a.basis(l, l.until)
			for _, node := range a.nodesOf(l.client) {
				expires := a.clocks.wall[node].when(a.ownTTL(l.client), basis.done, int(basis.end))
				k.unseen = append(k.unseen, unseenKey{span{l.from, max(l.from, expires)}, node})
			}
		}
		if token == "" {
			continue
		}
		of := tokenLeases{held: merge(leases[token].held, span{l.from, l.until})}
		if l.ended == EndedDeadline {
			of.lapsed = l.until
		}
		leases[token] = of
	}
	return leases
}

// excusedUntil gives until when a key is an obstacle. That is as long as it is there, if it is the
// key of a lease, which may outlive it until it expires or its release arrives, or comes to a node
// that was paused only when the lease has run out, which its holder did not release; or its owner
// is unknown; or its command came too late for anybody to wait for it. If faults kept its owner
// from taking it back it is one as long as they did: who was killed never can, and who is cut off
// can when the link is healed. The key of an attempt that failed is none: to clear it away is the
// lock's own business.
func (a *analysis) excusedUntil(h *keyOwnership, l tokenLeases) int64 {
	switch {
	case h.owner == "", h.span().meets(l.held), l.lapsed > 0 && h.from >= l.lapsed,
		a.heldTooLong(h.owner, h.node, h.from):
		return h.until
	}
	until := h.from
	for _, f := range a.interferingFaults(h) {
		until = max(until, f.possible().until)
	}
	return min(h.until, until)
}

// interferingFaults gives the faults that may have kept the owner of a key from its node while
// it was there.
func (a *analysis) interferingFaults(h *keyOwnership) []fault {
	owner, node, there := h.owner, h.node, h.span()
	var found []fault
	for _, f := range a.faults {
		between := f.link == history.Link{From: owner, To: node} && f.class.DisturbsLink() &&
			!a.far(f) && !a.brief(f, there) && !f.dropsSetReply()
		stopped := f.target == owner && f.class.StopsClient()
		sick := f.target == node && f.class.StopsNode() && there.meets(a.sick(f, owner))
		if sick || (between || stopped) && there.meets([]span{f.possible()}) {
			found = append(found, f)
		}
	}
	return found
}

// renewals gives the stretches of an obstacle in which it may stay beyond the TTL of the scenario; a
// point, if its own TTL is no longer: from then on it may take a TTL. One begins as the key is set,
// with each extension that others have to put up with (its client had the lease then, or a fault
// brought its own command later), and as its node's clock is set, by which it has another time to live.
// And a lease that runs out leaves its key until that expires: a bound that is shorter than a TTL has no time for that.
func (a *analysis) renewals(h *keyOwnership, l tokenLeases) []span {
	found := []span{a.beyondTTL(h, h.from, int(h.set))}
	if a.header.Bounds.Free < a.header.TTL && h.from < l.lapsed && l.lapsed < h.until {
		found = append(found, span{l.lapsed, min(h.until, max(l.lapsed, a.expiryKnownAt(h, l.lapsed)))})
	}
	for _, p := range a.prolonged[h] {
		then := span{p.time, p.time}
		if then.meets(l.held) || p.own && slices.ContainsFunc(a.interferingFaults(h),
			func(f fault) bool { return then.meets([]span{f.possible()}) }) {
			found = append(found, a.beyondTTL(h, p.time, p.event))
		}
	}
	for _, set := range a.clocks.wall[h.node] {
		if h.from < set.from && set.from < h.until {
			found = append(found, span{set.from, set.from})
		}
	}
	return found
}

// expiryKnownAt is when a key expires that is prolonged no more from a time on.
func (a *analysis) expiryKnownAt(h *keyOwnership, t int64) int64 {
	last := moment{int(h.set), h.from}
	for _, p := range a.prolonged[h] {
		if p.time <= t {
			last = p.moment
		}
	}
	return a.clocks.wall[h.node].when(a.ownTTL(h.owner), last.time, last.event)
}

// beyondTTL is by how much a key that an event set or extended then stays longer than the TTL of the
// scenario, for which the bounds are: its client's own TTL is longer, or its node's clock runs slow.
// A clock that jumped back is healed at once, and what it leaves is what the property is about.
func (a *analysis) beyondTTL(h *keyOwnership, t int64, event int) span {
	excess := a.clocks.wall[h.node].withoutJumps().when(a.ownTTL(h.owner), t, event) - t - a.header.TTL
	return span{t, min(h.until, t+max(0, excess))}
}

// ownTTL is that of a client, or the scenario's if that is longer.
func (a *analysis) ownTTL(client string) int64 {
	return max(a.header.TTL, a.header.ClientTTLs[client])
}

// obstructed gives the stretches of a client's wait for which too few nodes of its list were
// both healthy for it and free of an obstacle.
func (a *analysis) obstructed(k *keyed, w *waitPeriod) []span {
	return a.blocked(w.client, k, false, func(node string) []span {
		spans := a.unhealthy(w.client, node)
		for _, h := range k.tenures {
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

// lingering gives the stretches for which a key was owned by others than a
// client on enough nodes to block it, whoever is to blame.
func (a *analysis) lingering(k *keyed, client string) []span {
	return a.blocked(client, k, true, func(node string) (there []span) {
		for _, h := range k.tenures {
			if h.node == node && h.owner != client {
				there = append(there, h.span())
			}
		}
		return there
	})
}

// setbacksOf gives what sets a client's wait for a key back. Where the history tells of the keys on
// the nodes, it is the renewals of obstacles; else the ends of all attempts of others without a
// lease, which may have left something behind.
func (k *keyed) setbacksOf(client string) []span {
	if len(k.tenures) > 0 {
		return k.setbacks
	}
	var found []span
	for _, o := range k.acquires {
		if o.process != client && (o.outcome == indefinite || o.fruitless(0)) {
			found = append(found, span{o.done, o.done})
		}
	}
	return found
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
