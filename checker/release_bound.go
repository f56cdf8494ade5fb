package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// releaseBound judges releases. While its client reaches a healthy majority, a release returns within Bounds.Release.
// By then the lease's key is not left on enough nodes to keep another client from a majority, if one of these nodes, at
// least, was healthy for the releasing client all the while. A key that is only possibly left makes the verdict
// unknown.
type releaseBound struct{ *record }

func (b *releaseBound) violations() []Violation {
	bound := b.header.Bounds.Release
	if bound <= 0 {
		return nil
	}
	var found []Violation
	for _, o := range b.operations.kept {
		if o.op != history.OpRelease || o.done-o.invoked <= bound {
			continue
		}
		for _, clear := range o.span().without(b.keyOf(o).unreachable[o.process]) {
			if clear.length() > bound {
				found = append(found, b.lateReturn(o, clear))
			}
		}
	}
	for _, k := range b.keys {
		if b.names.released[k.name] != "" {
			continue
		}
		for _, l := range b.findLeftovers(k, true) {
			found = append(found, b.leftoverViolation(k, l))
		}
	}
	slices.SortStableFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until))
	})
	return found
}

// unknownRelease describes a release that may have left its key on enough nodes to block another client; "": none.
func (b *releaseBound) unknownRelease() string {
	if b.header.Bounds.Release <= 0 {
		return ""
	}
	for _, k := range b.keys {
		left := b.findLeftovers(k, false)
		switch what := b.names.released[k.name]; {
		case len(left) == 0:
		case what != "":
			return what
		default:
			on := strings.Join(slices.Sorted(slices.Values(left[0].all)), ", ")
			return fmt.Sprintf("%s released %q and may have left its key on %s: a delete had no reply, or the lock uses more "+
				"nodes than the history shows", left[0].lease.client, k.name, on)
		}
	}
	return ""
}

// keyOf returns the key of a release's lease.
func (b *releaseBound) keyOf(o *operation) *keyed {
	return b.key(b.operations.grant(o.process, o.lease).key)
}

func (b *releaseBound) lateReturn(o *operation, clear span) Violation {
	return Violation{
		Key: o.key, From: clear.from, Until: clear.until, Processes: []string{o.process},
		What: fmt.Sprintf("%s released %q at %s; from %s to %s it reached a healthy majority, "+
			"but its release had not returned after %s (limit %s)",
			o.process, o.key, formatTime(o.invoked), formatTime(clear.from), formatTime(clear.until),
			formatDuration(clear.length()), formatDuration(b.header.Bounds.Release)),
		release: true,
		facts:   func() []Fact { return b.waitFacts(o.process, o.key, clear) },
	}
}

// leftoverKeys are a lease's keys that its release has left when the bound has passed.
type leftoverKeys struct {
	lease lease
	due   int64           // when the bound has passed
	left  []*keyOwnership // on nodes that were healthy for its client
	all   []string        // all nodes with such a key
}

// findLeftovers finds the releases that left keys on enough nodes to block another client, certainly or possibly. A key
// that existed before the release and is left lived for longer than the bound, so shorter ones are skipped.
func (b *releaseBound) findLeftovers(k *keyed, certainly bool) []leftoverKeys {
	bound := b.header.Bounds.Release
	lingering := map[string][]*keyOwnership{}
	for _, h := range k.ownerships {
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
		keys := lingering[l.grant.token]
		if l.ended != EndedRelease || due >= b.end || len(keys) == 0 {
			continue
		}
		r := b.leftoverAt(l, due, keys, certainly)
		if b.blocksAnother(r, k, certainly) && len(r.left) > 0 {
			found = append(found, r)
		}
	}
	return found
}

// blocksAnother reports whether the leftover keys keep a client from a majority: of its whole list if certainly is set,
// else of the nodes that its lock is known to use.
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

// leftoverAt returns what is left of a lease's keys when the bound has passed, certainly or possibly.
func (b *releaseBound) leftoverAt(l lease, due int64, keys []*keyOwnership, certainly bool) leftoverKeys {
	client, window := l.client, span{l.until, due}
	r := leftoverKeys{lease: l, due: due}
	if window.touches(b.key(l.grant.key).unreachable[client]) {
		return r
	}
	for _, h := range keys {
		another := h.owner != "" && h.owner != client // with the same token
		if h.from > due || h.until <= due || certainly && h.mayBeGone <= due || another || b.setByLaterAcquire(l, h) {
			continue
		}
		r.all = append(r.all, h.node)
		if !window.touches(b.unhealthy(client, h.node)) {
			r.left = append(r.left, h)
		}
	}
	return r
}

// setByLaterAcquire reports whether a later acquire of the client set a key with a token that its lock uses for several
// acquires: then the release did not leave it.
func (b *releaseBound) setByLaterAcquire(l lease, h *keyOwnership) bool {
	k := b.key(l.grant.key)
	later, repeated := false, false
	for _, o := range k.acquires {
		repeated = repeated || o.ok() && o != l.grant && o.token == h.token
		later = later || o.process == l.client && l.until <= o.invoked && o.invoked <= h.from
	}
	return later && repeated
}

func (b *releaseBound) leftoverViolation(k *keyed, r leftoverKeys) Violation {
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
		Leases: []Lease{r.lease.result()},
		facts:  func() []Fact { return b.leftFacts(r) },
	}
}
