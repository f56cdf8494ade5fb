package checker

// obstacles tells which keys on the nodes are something that a client has to wait for.
type obstacles struct {
	*analysis
	key    *keyed
	leased map[text][]span // by token, when leases with it were held: some locks have one for all attempts
	silent map[name]bool   // clients that were granted leases without telling their tokens
	lapsed map[text]int64  // by token, when the last lease with it ran out, and nobody asked the lock for anything any more
}

func (a *analysis) obstacles(k *keyed) *obstacles {
	o := &obstacles{analysis: a, key: k, leased: map[text][]span{}, silent: map[name]bool{}, lapsed: map[text]int64{}}
	for _, grant := range k.acquires {
		if grant.ok() && grant.token == 0 {
			o.silent[grant.process] = true
		}
	}
	for _, l := range k.leases { // in the order of from
		if l.grant.token == 0 {
			continue
		}
		o.leased[l.grant.token] = merge(o.leased[l.grant.token], span{l.from, l.until})
		delete(o.lapsed, l.grant.token)
		if l.ended == atDeadline {
			o.lapsed[l.grant.token] = l.until
		}
	}
	return o
}

// during gives the stretches of a client's asking for which too few nodes were both
// healthy for it and free of a key that it has to wait for.
func (o *obstacles) during(w asking) []span {
	nodes := map[string][]span{}
	for _, node := range o.header.Nodes {
		nodes[node] = o.reach().unhealthy(o.name(w.client), node)
	}
	for _, h := range o.key.tenures {
		if h.from < w.until && h.until > w.from && o.stands(h) {
			node := o.name(h.node)
			nodes[node] = append(nodes[node], span{h.from, h.until})
		}
	}
	var sets [][]span
	for _, spans := range nodes {
		sets = append(sets, spans)
	}
	return covered(o.blocking(), sets)
}

// stands reports whether a key is an obstacle that a lock is not to blame for: it is
// that of a lease, which may outlive it until it expires or its release arrives, or comes to
// a node that was paused only when the lease has run out, which its holder did not release; or its
// owner is unknown; or its owner could not take it back, because it was killed, a fault
// stood between, or its command came too late for anybody to wait for it. The key of
// an attempt that failed is none: to clear it away is the lock's own business.
func (o *obstacles) stands(h *holding) bool {
	if h.owner == nobody || (span{h.from, h.until}).meets(o.leased[h.token]) || o.silent[h.owner] {
		return true
	}
	if end, lapsed := o.lapsed[h.token]; lapsed && h.from >= end {
		return true
	}
	return o.heldTooLong(h.owner, h.node, h.from) || len(o.hindrances(h)) > 0
}

// hindrances gives the faults that may have kept the owner of a key from its node while
// it was there.
func (o *obstacles) hindrances(h *holding) []fault {
	owner, node := o.name(h.owner), o.name(h.node)
	reach, there := o.reach(), span{h.from, h.until}
	var found []fault
	for _, f := range o.faults {
		between := f.target == owner+"-"+node && f.class.HindersLink() && !reach.far(f) && !reach.brief(f, there) && !f.takesAnswer()
		stopped := f.target == owner && f.class.StopsClient()
		sick := f.target == node && f.class.SickNode() && there.meets(reach.sick(f, owner))
		if sick || (between || stopped) && there.meets([]span{f.possible()}) {
			found = append(found, f)
		}
	}
	return found
}
