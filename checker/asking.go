package checker

import "sort"

// asking is a client's asking for a key: one acquire, or several of which each began
// soon after the one before had ended without a grant.
type asking struct {
	span
	client name
	first  *operation
	last   *operation
	// anew: it made pauses that are too long to be nothing, and has asked anew each time.
	anew bool
}

// breath is the part of the bound for a grant by which two acquires of one client may
// be apart and still be one asking; and how many of its acquires have to fail, where they
// are further apart, for it to have waited.
const breath = 4

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
		all = append(all, asking{span: span{o.asked, o.done}, client: o.process, first: o, last: o})
		latest[o.process] = len(all)
	}
	return all
}

// askingsAnew gives those who asked and were refused, and asked anew, again and again, with
// pauses that are longer than breath allows and no longer than the bound for a grant: who
// pauses between attempts that all fail is waiting, too.
func (k *keyed) askingsAnew(bound int64) []asking {
	breathing, all := k.askings(bound/breath), k.askings(bound)
	anew := all[:0]
	for _, a := range all {
		begins := func(i int) bool { return breathing[i].from >= a.from }
		i := sort.Search(len(breathing), begins)
		for i < len(breathing) && breathing[i].client != a.client {
			i++
		}
		if i == len(breathing) || breathing[i].until < a.until {
			a.anew = true
			anew = append(anew, a)
		}
	}
	return anew
}

// tried is the part of a stretch in which a client that asks anew has waited: from the first to
// the last of its acquires that lie in it and failed. It is empty where these are too few, for one
// or two may well fail among rivals. What its caller has cancelled at once has not failed.
func (k *keyed) tried(client name, during span, bound int64) span {
	var part span
	failures := 0
	first := sort.Search(len(k.acquires), func(i int) bool { return k.acquires[i].asked >= during.from })
	for _, o := range k.acquires[first:] {
		if o.asked >= during.until {
			break
		}
		lasted := o.done - o.asked
		if o.process != client || o.done > during.until || o.outcome != failed || o.cancelled && lasted < bound/breath {
			continue
		}
		if failures++; failures == 1 {
			part.from = o.asked
		}
		part.until = o.done
	}
	if failures < breath {
		return span{}
	}
	return part
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
