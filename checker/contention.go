package checker

import (
	"cmp"
	"slices"
)

// claim is a client's attempt on a key or its lease.
type claim struct {
	span
	client  string
	attempt bool
}

// contended counts the acquires that overlap another client's acquire, lease, or
// key on a node: a holder that is gone leaves keys that still contend.
func (k *keyed) contended() int {
	claims := k.claims(true)
	met := make([]bool, len(claims))
	meetEarlier(claims, met)
	meetLater(claims, met)
	n := 0
	for i, c := range claims {
		if c.attempt && met[i] {
			n++
		}
	}
	return n
}

// claims gives all claims on a key in the order of their beginnings; with the
// keys on the nodes, if that is asked for. Of those that begin at once attempts come first.
func (k *keyed) claims(onNodes bool) []claim {
	all := make([]claim, 0, len(k.acquires)+len(k.leases)+len(k.tenures))
	for _, o := range k.acquires {
		if !o.refused { // else nobody was asked
			all = append(all, claim{span{o.asked, o.done}, o.process, true})
		}
	}
	for _, l := range k.leases {
		all = append(all, claim{span{l.from, l.until}, l.client, false})
	}
	for _, h := range k.tenures {
		if onNodes && h.owner != "" {
			all = append(all, claim{span{h.from, h.until}, h.owner, false})
		}
	}
	slices.SortStableFunc(all, func(a, b claim) int { return cmp.Compare(a.from, b.from) })
	return all
}

// longestClaims are, of some claims, the one that lasts longest and the longest of any
// other client.
type longestClaims struct{ first, second claim }

// with gives the leaders when another claim comes.
func (l longestClaims) with(c claim) longestClaims {
	switch {
	case c.client == l.first.client:
		l.first.until = max(l.first.until, c.until)
	case c.until > l.first.until:
		l.first, l.second = c, l.first
	case c.until > l.second.until:
		l.second = c
	}
	return l
}

// besides gives until when the longest claim of any client but this one lasts.
func (l longestClaims) besides(client string) int64 {
	if l.first.client == client {
		return l.second.until
	}
	return l.first.until
}

// noClaims are those of no claims.
var noClaims = longestClaims{claim{span: span{until: -never}}, claim{span: span{until: -never}}}

// meetEarlier marks the claims that begin during an earlier one of another
// client.
func meetEarlier(claims []claim, met []bool) {
	so := noClaims
	for i, c := range claims {
		met[i] = met[i] || so.besides(c.client) > c.from
		so = so.with(c)
	}
}

// meetLater marks the claims during which the next claim of another client begins.
func meetLater(claims []claim, met []bool) {
	next := len(claims) // the nearest later claim of another client than claims[i]
	for i := len(claims) - 2; i >= 0; i-- {
		if claims[i+1].client != claims[i].client {
			next = i + 1
		}
		met[i] = met[i] || next < len(claims) && claims[next].from < claims[i].until
	}
}
