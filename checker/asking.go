package checker

// asking is a client's asking for a key: one acquire, or several of which each began
// soon after the one before had ended without a grant.
type asking struct {
	span
	client name
	first  *operation
	last   *operation
}

// askings gives who asked for a key and when, in the order of their beginnings. A pause
// of at most gap between two acquires of one client does not end its asking: a lock whose
// attempts fail fast makes its client ask again and again. A lock that refuses its own
// settings was not asked.
func (k *keyed) askings(gap int64) []asking {
	var all []asking
	latest := map[name]int{} // by client, its latest asking, plus one
	for _, o := range k.acquires {
		if o.refused {
			continue
		}
		if i := latest[o.process] - 1; i >= 0 && !all[i].last.ok() && o.asked-all[i].until <= gap {
			all[i].until, all[i].last = max(all[i].until, o.done), o
			continue
		}
		all = append(all, asking{span{o.asked, o.done}, o.process, o, o})
		latest[o.process] = len(all)
	}
	return all
}

// rivals counts the other clients that asked for a key at some time during a stretch of
// one client's asking.
func (a asking) rivals(all []asking, during span) int {
	clients := map[name]bool{}
	for _, other := range all {
		if other.client != a.client && other.from < during.until && other.until > during.from {
			clients[other.client] = true
		}
	}
	return len(clients)
}
