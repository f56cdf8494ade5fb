package checker

import "slices"

// obstacles tells which keys on the nodes are something that a client has to wait for.
type blockingKeys struct {
	*analysis
	key    *keyed
	leased map[string][]span // by token, when leases with it were held: some locks have one for all attempts
	// by token, when the last lease with it ran out, and nobody asked the lock for anything any more
	lapsed map[string]int64
	unseen []unseenKey
}

// unseenKey is what a lease may have left whose keys no command is known to have set, but a
// transaction, say: keys that were set at a time and expire by their nodes' clocks, unless its
// holder released it.
type unseenKey struct {
	from, set int64
	event     int
	owner     string
}

func newBlockingKeys(a *analysis, k *keyed) *blockingKeys {
	o := &blockingKeys{analysis: a, key: k, leased: map[string][]span{}, lapsed: map[string]int64{}}
	seen := map[string]bool{}
	for _, h := range k.tenures {
		seen[h.token] = true
	}
	for _, l := range k.leases { // in the order of from
		token := l.grant.keyToken
		if !seen[token] && l.ended != EndedRelease {
			basis := a.basis(l, l.until)
			o.unseen = append(o.unseen, unseenKey{l.from, basis.done, int(basis.end), l.client})
		}
		if token == "" {
			continue
		}
		o.leased[token] = merge(o.leased[token], span{l.from, l.until})
		delete(o.lapsed, token)
		if l.ended == EndedDeadline {
			o.lapsed[token] = l.until
		}
	}
	return o
}

// during gives the stretches of a client's wait for which too few nodes of its list were
// both healthy for it and free of a key that it has to wait for.
func (o *blockingKeys) during(w *waitPeriod) []span {
	client := w.client
	nodes := map[string][]span{}
	for _, node := range o.nodesOf(client) {
		nodes[node] = o.unhealthy(client, node)
	}
	for _, h := range o.key.tenures {
		node := h.node
		if _, listed := nodes[node]; !listed || h.from >= w.until || h.until <= w.from {
			continue
		}
		if there := o.excused(h); there.until > there.from {
			nodes[node] = append(nodes[node], there)
		}
	}
	for _, u := range o.unseen {
		for _, node := range o.nodesOf(u.owner) {
			if _, listed := nodes[node]; listed {
				expires := o.clocks.wall[node].when(o.ownTTL(u.owner), u.set, u.event)
				nodes[node] = append(nodes[node], span{u.from, max(u.from, expires)})
			}
		}
	}
	var sets [][]span
	for _, spans := range nodes {
		sets = append(sets, spans)
	}
	return covered(o.blockingFor(client), sets)
}

// excused gives the part of a key's time on its node for which it is an obstacle that a lock
// is not to blame for. That is all of it, if it is the key of a lease, which may outlive it
// until it expires or its release arrives, or comes to a node that was paused only when the
// lease has run out, which its holder did not release; or its owner is unknown; or its command
// came too late for anybody to wait for it. If faults kept its owner from taking it back it is
// one as long as they did: who was killed never can, and who is cut off can when the link is
// healed. The key of an attempt that failed is none: to clear it away is the lock's own business.
func (o *blockingKeys) excused(h *keyOwnership) span {
	whole := span{h.from, h.until}
	if h.owner == "" || whole.meets(o.leased[h.token]) {
		return whole
	}
	if end, lapsed := o.lapsed[h.token]; lapsed && h.from >= end {
		return whole
	}
	if o.heldTooLong(h.owner, h.node, h.from) {
		return whole
	}
	until := h.from
	for _, f := range o.interferingFaults(h) {
		until = max(until, f.possible().until)
	}
	return span{h.from, min(h.until, until)}
}

// duly reports whether an extension of a key is one that others have to put up with: its client
// had the lease then, or a fault brought the command later.
func (o *blockingKeys) duly(h *keyOwnership, t int64) bool {
	then := span{t, t}
	return then.meets(o.leased[h.token]) ||
		slices.ContainsFunc(o.interferingFaults(h), func(f fault) bool { return then.meets([]span{f.possible()}) })
}

// interferingFaults gives the faults that may have kept the owner of a key from its node while
// it was there.
func (o *blockingKeys) interferingFaults(h *keyOwnership) []fault {
	owner, node := h.owner, h.node
	there := span{h.from, h.until}
	var found []fault
	for _, f := range o.faults {
		between := f.target == owner+"-"+node && f.class.DisturbsLink() && !o.far(f) && !o.brief(f, there) &&
			!f.dropsSetReply()
		stopped := f.target == owner && f.class.StopsClient()
		sick := f.target == node && f.class.StopsNode() && there.meets(o.sick(f, owner))
		if sick || (between || stopped) && there.meets([]span{f.possible()}) {
			found = append(found, f)
		}
	}
	return found
}
