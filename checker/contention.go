package checker

// claims are the times, by client, when it tried to acquire a key or held a lease on it.
type claims map[string][]span

// claims returns all claims on a key, with the ownerships on the nodes if onNodes is set.
func (k *keyed) claims(onNodes bool) claims {
	all := claims{}
	add := func(client string, s span) { all[client] = append(all[client], s) }
	for _, o := range k.acquires {
		if !o.refused { // the lock refused its settings and contacted no node
			add(o.process, o.span())
		}
	}
	for _, l := range k.leases {
		add(l.client, l.span)
	}
	for _, h := range k.ownerships {
		if onNodes && h.owner != "" {
			add(h.owner, h.span)
		}
	}
	for client, spans := range all {
		all[client] = union(spans)
	}
	return all
}

// ofOthers reports whether an interval, its ends included, touches a claim of another client.
func (c claims) ofOthers(client string, during span) bool {
	for other, spans := range c {
		if other != client && during.touches(spans) {
			return true
		}
	}
	return false
}

// contended counts the acquires that overlap another client's acquire, lease or, if the owners are known, key on a
// node: a dead holder's keys still contend.
func (k *keyed) contended(known bool) int {
	claims := k.claims(known)
	n := 0
	for _, o := range k.acquires {
		inside := span{o.invoked + 1, o.done - 1} // sharing only an end is not contention
		if !o.refused && claims.ofOthers(o.process, inside) {
			n++
		}
	}
	return n
}
