package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// releaseBound judges releases: while its client reaches a healthy majority, a release
// returns within Bounds.Release, and by then the lease's key blocks in nobody's way any
// more: not on enough nodes to block others of which one, at least, the client could reach.
type releaseBound struct{ *analysis }

func (b *releaseBound) violations() []Violation {
	bound := b.header.Bounds.Release
	if bound <= 0 {
		return nil
	}
	var found []Violation
	for _, o := range b.operations.kept {
		if o.op != history.OpRelease || o.done-o.asked <= bound {
			continue
		}
		for _, clear := range (span{o.asked, o.done}).without(b.keyOf(o).unreachable[o.process]) {
			if clear.length() > bound {
				found = append(found, b.late(o, clear))
			}
		}
	}
	for _, k := range b.keys {
		if b.names.released[k.name] != "" {
			continue
		}
		for _, l := range b.undone(k, true) {
			found = append(found, b.left(k, l))
		}
	}
	slices.SortStableFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until))
	})
	return found
}

// doubt tells of a release that may have left its key in the way of others; "": there is none.
func (b *releaseBound) doubt() string {
	if b.header.Bounds.Release <= 0 {
		return ""
	}
	for _, k := range b.keys {
		left := b.undone(k, false)
		switch what := b.names.released[k.name]; {
		case len(left) == 0:
		case what != "":
			return what
		default:
			on := strings.Join(slices.Sorted(slices.Values(left[0].all)), ", ")
			return fmt.Sprintf("%s released %q and may have left its key on %s: not every delete was answered, or the lock "+
				"is on more nodes than it was seen to use", left[0].lease.client, k.name, on)
		}
	}
	return ""
}

// keyOf gives the key of the lease that a release is about.
func (b *releaseBound) keyOf(o *operation) *keyed {
	return b.key(b.operations.grant(o.process, o.lease).key)
}

func (b *releaseBound) late(o *operation, clear span) Violation {
	return Violation{
		Key: o.key, From: clear.from, Until: clear.until, Processes: []string{o.process},
		What: fmt.Sprintf("%s released %q at %s; from %s to %s it reached a healthy majority, "+
			"but its release had not returned after %s (limit %s)",
			o.process, o.key, formatTime(o.asked), formatTime(clear.from), formatTime(clear.until),
			formatDuration(clear.length()), formatDuration(b.header.Bounds.Release)),
		release: true,
		facts:   func() []Fact { return b.waitFacts(o.process, o.key, clear) },
	}
}

// leftoverKeys is what a release has left when it should have been done.
type leftoverKeys struct {
	lease lease
	due   int64           // when it should have been done
	left  []*keyOwnership // on nodes that its client could reach
	all   []string        // on which nodes
}

// undone finds the releases that left a key in the way of others, certainly or perhaps. A key that was taken back
// within the bound lived no longer than its lease and the bound, so that few keys need to be looked at.
func (b *releaseBound) undone(k *keyed, certainly bool) []leftoverKeys {
	bound := b.header.Bounds.Release
	lingering := map[string][]*keyOwnership{}
	for _, h := range k.tenures {
		if h.until-h.from > bound && h.token != "" {
			lingering[h.token] = append(lingering[h.token], h)
		}
	}
	if len(lingering) == 0 {
		return nil
	}
	var found []leftoverKeys
	for _, l := range k.leases {
		due := l.until + bound
		keys := lingering[l.grant.keyToken]
		if l.ended != EndedRelease || due >= b.end || len(keys) == 0 {
			continue
		}
		r := b.remains(l, due, keys, certainly)
		if b.blocksAnother(r, k, certainly) && len(r.left) > 0 {
			found = append(found, r)
		}
	}
	return found
}

// blocksAnother reports whether what is left keeps a client from a majority of the nodes that its lock is on.
func (b *releaseBound) blocksAnother(r leftoverKeys, k *keyed, certainly bool) bool {
	return slices.ContainsFunc(b.header.Clients, func(client string) bool {
		nodes, blocked := b.usedBy(client, k), 0
		if certainly {
			nodes = b.nodesOf(client)
		}
		for _, node := range nodes {
			if slices.Contains(r.all, node) {
				blocked++
			}
		}
		return 2*blocked >= len(nodes)
	})
}

// remains gives what is left of a lease's keys when its release is due, certainly or perhaps.
func (b *releaseBound) remains(l lease, due int64, keys []*keyOwnership, certainly bool) leftoverKeys {
	client, window := l.client, span{l.until, due}
	r := leftoverKeys{lease: l, due: due}
	if window.meets(b.key(l.grant.key).unreachable[client]) {
		return r
	}
	for _, h := range keys {
		if h.from > due || h.until <= due || certainly && h.mayBeGone <= due || b.takenAnew(l, h) {
			continue
		}
		r.all = append(r.all, h.node)
		if !window.meets(b.unhealthy(client, h.node)) {
			r.left = append(r.left, h)
		}
	}
	return r
}

// takenAnew reports whether a key was set by a later acquire of the client, with the one token that
// its lock has for all of them: it is none that the release left.
func (b *releaseBound) takenAnew(l lease, h *keyOwnership) bool {
	k := b.key(l.grant.key)
	anew, repeated := false, false
	for _, o := range k.acquires {
		repeated = repeated || o.ok() && o != l.grant && o.keyToken == h.token
		anew = anew || o.process == l.client && l.until <= o.asked && o.asked <= h.from
	}
	return anew && repeated
}

func (b *releaseBound) left(k *keyed, r leftoverKeys) Violation {
	client := r.lease.client
	var until int64
	for _, h := range r.left {
		until = max(until, h.until)
	}
	return Violation{
		Key: k.name, From: r.due, Until: until, Processes: []string{client},
		What: fmt.Sprintf("%s released %q at %s and reached a healthy majority; %s later its key was still "+
			"on %d of %d nodes, enough to keep others out, until %s",
			client, k.name, formatTime(r.lease.until), formatDuration(b.header.Bounds.Release), len(r.all), len(b.header.Nodes),
			formatTime(until)),
		Leases: []Lease{r.lease.told()},
		facts:  func() []Fact { return b.leftFacts(r) },
	}
}
