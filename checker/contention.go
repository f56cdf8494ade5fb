package checker

// claims are the stretches, by client, in which it tried to acquire a key or held a lease on it.
type claims map[string][]span

// claims gives all claims on a key; with those of its keys on the nodes, if that is asked for.
func (k *keyed) claims(onNodes bool) claims {
	all := claims{}
	add := func(client string, s span) { all[client] = append(all[client], s) }
	for _, o := range k.acquires {
		if !o.refused { // else nobody was asked
			add(o.process, span{o.asked, o.done})
		}
	}
	for _, l := range k.leases {
		add(l.client, span{l.from, l.until})
	}
	for _, h := range k.tenures {
		if onNodes && h.owner != "" {
			add(h.owner, span{h.from, h.until})
		}
	}
	for client, spans := range all {
		all[client] = union(spans)
	}
	return all
}

// ofOthers reports whether a stretch, its ends included, meets a claim of another client.
func (c claims) ofOthers(client string, during span) bool {
	for other, spans := range c {
		if other != client && during.meets(spans) {
			return true
		}
	}
	return false
}

// contended counts the acquires that overlap another client's acquire, lease, or
// key on a node, where it is known whose that is: a holder that is gone leaves keys that still contend.
func (k *keyed) contended(known bool) int {
	claims := k.claims(known)
	n := 0
	for _, o := range k.acquires {
		inside := span{o.asked + 1, o.done - 1} // what shares but an end with it is no contention
		if !o.refused && claims.ofOthers(o.process, inside) {
			n++
		}
	}
	return n
}
