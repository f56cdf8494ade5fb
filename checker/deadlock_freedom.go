package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"lockproof/harness/history"
)

// DeadlockFreedom is the name of a property.
const DeadlockFreedom = "deadlock-freedom"

var _ = declare(Property{
	Name:    DeadlockFreedom,
	Meaning: "once faults are healed and holders gone, a waiting client gets the lock within a stated bound",
	Place:   4,
	Brief:   func(_ Violation, length string) string { return "waiting in vain: " + length },
	judge:   func(a *analysis, b *blamer, _ oracles) (Result, error) { return (&deadlockFreedom{a, b}).judge(), nil },
})

// deadlockFreedom: once faults are healed and holders gone, a waiting client
// gets the lock within Bounds.Free (redis.io, "Liveness property A"); nobody
// keeps it by extensions for longer than Bounds.Tenure while another waits;
// and no key is left without an expiry.
//
// A client waits while it asks, and asks again soon after it was refused. Its wait is
// cut at every moment from which on the lock may need some time again: when another
// lease ends, when a key comes to a node that a client has to wait for; and while the
// client reaches no healthy majority the bound does not run.
// What is left are the stretches in which the lock stood free while the client
// waited. One that is longer than the bound is a violation. A wait that ended
// before the bound shows nothing.
type deadlockFreedom struct {
	*analysis
	blamer *blamer
}

func (d *deadlockFreedom) judge() Result {
	violations := d.neverExpiring()
	measured := map[string]int64{}
	all := make([]waits, len(d.keys))
	sideBySide(len(all), func(i int) { all[i] = d.waits(d.keys[i]) })
	for i, w := range all {
		for _, l := range w.late {
			violations = append(violations, d.waitViolation(l.asked, l.free, len(violations)))
		}
		violations = append(violations, d.tooLongHeld(d.keys[i], len(violations))...)
		measured["waited"] += int64(w.waited)
		measured["handovers"] += int64(w.handovers)
		measured["longest_wait"] = max(measured["longest_wait"], w.longestWait)
		measured["longest_free"] = max(measured["longest_free"], w.longestFree)
	}
	slices.SortStableFunc(violations, func(a, b Violation) int { return cmp.Compare(a.From, b.From) })
	result := settle(DeadlockFreedom, violations, measured)
	switch {
	case result.Verdict != history.Holds:
	case d.header.Bounds.Free <= 0:
		result.undecide(Vacuous, "the run states no bound for a wait")
	case measured["waited"] == 0 && measured["handovers"] == 0:
		result.undecide(Vacuous, "nobody was granted a lock that had been in use")
	}
	return result
}

// waits are the waits for one key.
type waits struct {
	longestWait int64 // from the call of a granted acquire to its grant
	longestFree int64 // for which the lock stood free while somebody waited
	late        []late
	// waited are the grants that had to wait behind a lease, a majority out of
	// reach, or another's key that lingered on the nodes; handovers are those of a lock
	// that another client had held, or tried for, at most Bounds.Free before.
	waited, handovers int
}

// late is a wait during which the lock stood free for longer than Bounds.Free.
type late struct {
	asked asking
	free  span
}

func (d *deadlockFreedom) waits(k *keyed) waits {
	var w waits
	held := spansOf(k.leases)
	w.stoodFree(d.analysis, k, held)
	w.earned(d, k, held)
	for _, o := range k.acquires {
		if o.ok() {
			w.longestWait = max(w.longestWait, o.done-o.asked)
		}
	}
	return w
}

// stoodFree finds the stretches for which the lock stood free during a wait:
// between the leases and, as points, the moments from which on it may need a TTL again.
func (w *waits) stoodFree(a *analysis, k *keyed, held []span) {
	bound := a.header.Bounds.Free
	all, busy := k.waitsFor(a), held
	if points := k.setbacks(a); len(points) > 0 {
		busy = unionOf(slices.Concat(held, points))
	}
	var gaps, left []span
	for _, asked := range all {
		outOfReach := a.unreachable[asked.client]
		gaps = asked.appendWithout(gaps[:0], busy)
		for _, gap := range gaps {
			left = gap.appendWithout(left[:0], outOfReach)
			free := longest(left)
			if asked.anew {
				free = k.tried(asked.client, free, a.patience())
			} else {
				w.longestFree = max(w.longestFree, free.length())
			}
			if bound > 0 && free.length() > bound {
				free = longest(free.without(k.taken(free, asked.client)))
			}
			if bound > 0 && free.length() > bound && !(asked.anew && w.tells(asked.client, free)) {
				w.late = append(w.late, late{asked, free})
			}
		}
	}
}

// tells reports whether a client's wait at that time is told of already.
func (w *waits) tells(client name, free span) bool {
	return slices.ContainsFunc(w.late, func(l late) bool { return l.asked.client == client && l.free.overlaps(free) })
}

// waitsFor gives who waited for a key and when. Where the history tells of the keys on
// the nodes, a client that is refused and soon asks again goes on waiting, and so does one
// that asks anew again and again.
func (k *keyed) waitsFor(a *analysis) []asking {
	if len(k.tenures) == 0 {
		return k.askings(-1)
	}
	return slices.Concat(k.askings(a.patience()/breath), k.askingsAnew(a.patience()))
}

// patience is how long a pause between two acquires may be for their client to go on asking.
func (a *analysis) patience() int64 { return cmp.Or(a.header.Bounds.Grant, a.header.Bounds.Free) }

// setbacks gives the moments, as points, from which on a key may need a TTL again until it
// is free. Where the history tells of the keys on the nodes, these are the arrivals of
// those that a client has to wait for (see [obstacles]); else the ends of all attempts
// without a grant, which may have left something behind.
func (k *keyed) setbacks(a *analysis) []span {
	var points []span
	if len(k.tenures) > 0 {
		inTheWay := a.obstacles(k)
		for _, h := range k.tenures {
			if inTheWay.stands(h) {
				points = append(points, span{h.from, h.from})
			}
		}
		return points
	}
	for _, o := range k.acquires {
		if o.outcome == failed || o.outcome == indefinite {
			points = append(points, span{o.done, o.done})
		}
	}
	return points
}

// taken gives the moments of a stretch at which others than a client came to own the
// key on a node without asking for it then, by a command that was late or as the node
// came back with what it knew: from then on it may take a TTL until it is free.
func (k *keyed) taken(during span, client name) []span {
	var points []span
	for _, h := range k.tenures {
		asks := func(o *operation) bool { return o.process == h.owner && o.asked <= h.from && h.from <= o.done }
		if h.owner != client && h.from > during.from && h.from < during.until && !slices.ContainsFunc(k.acquires, asks) {
			points = append(points, span{h.from, h.from})
		}
	}
	return union(points)
}

// waitViolation tells of a wait during which the lock stood free for too long.
func (d *deadlockFreedom) waitViolation(w asking, free span, index int) Violation {
	ending := "; it was still waiting"
	if w.last.ok() && w.until == free.until {
		ending = ", when it was granted"
	}
	client, key := d.name(w.client), d.name(w.first.key)
	v := Violation{
		Key: key, From: free.from, Until: free.until, Processes: []string{client},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q though the lock was free: it asked at %s; nobody held it "+
			"and no fault was in the way from %s to %s%s",
			client, lasting(free.length()), lasting(d.header.Bounds.Free), key, at(w.from), at(free.from), at(free.until), ending),
	}
	if index < maxViolations {
		v.Blame = d.blamer.forWait(w, free)
	}
	return v
}

// earned counts the grants that show something.
func (w *waits) earned(d *deadlockFreedom, k *keyed, held []span) {
	obstacles := perClient{}
	claims := k.claims(false)
	upTo := make([]leaders, len(claims)+1) // those of so many claims
	upTo[0] = noLeaders
	for i, c := range claims {
		upTo[i+1] = upTo[i].with(c)
	}
	for _, o := range k.acquires {
		if !o.ok() {
			continue
		}
		inTheWay := obstacles.of(o.process, func() []span {
			return union(append(d.lingering(k, o.process), d.unreachable[o.process]...))
		})
		// The moment of the grant belongs to the lease that it begins.
		wait := span{o.asked, o.done - 1}
		if wait.meets(held) || wait.meets(inTheWay) {
			w.waited++
		}
		begun := sort.Search(len(claims), func(i int) bool { return claims[i].from >= o.done })
		if upTo[begun].besides(o.process) >= o.asked-d.header.Bounds.Free {
			w.handovers++
		}
	}
}

// spansOf gives the stretches for which a key was held.
func spansOf(leases []lease) []span {
	spans := make([]span, 0, len(leases))
	for _, l := range leases { // in the order of from
		spans = merge(spans, span{l.from, l.until})
	}
	return slices.Clip(spans)
}

// lingering gives the stretches for which a key was owned by others than a
// client on enough nodes to block it.
func (d *deadlockFreedom) lingering(k *keyed, client name) []span {
	nodes := map[name][]span{}
	for _, h := range k.tenures {
		if h.owner != client {
			nodes[h.node] = append(nodes[h.node], span{h.from, h.until})
		}
	}
	var sets [][]span
	for _, spans := range nodes {
		sets = append(sets, spans)
	}
	return covered(d.blocking(), sets)
}

// tooLongHeld finds the leases that were kept for longer than Bounds.Tenure
// while another client waited all the time.
func (d *deadlockFreedom) tooLongHeld(k *keyed, known int) []Violation {
	bound := d.header.Bounds.Tenure
	if bound <= 0 {
		return nil
	}
	var found []Violation
	for _, l := range k.leases {
		if l.until-l.from <= bound {
			continue
		}
		for _, o := range k.acquires {
			both := span{max(l.from, o.asked), min(l.until, o.done)}
			if o.process != l.client && both.length() > bound {
				found = append(found, d.tenureViolation(d.lease(l), d.name(o.process), both, known+len(found)))
			}
		}
	}
	return found
}

func (d *deadlockFreedom) tenureViolation(l Lease, waiter string, both span, index int) Violation {
	v := Violation{
		Key: l.Key, From: both.from, Until: both.until, Processes: []string{l.Client, waiter},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q while %s kept it, from %s to %s",
			waiter, lasting(both.length()), lasting(d.header.Bounds.Tenure), l.Key, l.Client, at(l.From), at(l.Until)),
		Leases: []Lease{l},
	}
	if index < maxViolations {
		v.Blame = d.blamer.forTenure(l, both)
	}
	return v
}

// neverExpiring finds the keys without an expiry in the last look into each node.
func (d *deadlockFreedom) neverExpiring() []Violation {
	var found []Violation
	for _, node := range keysOf(d.looks) {
		look := d.looks[node]
		for _, k := range d.keys {
			state, present := look.keys[k.name]
			if !present || state.TTL >= 0 || state.Token == "" {
				continue
			}
			found = append(found, Violation{
				Key: k.name, From: look.time, Until: d.end, Processes: []string{node},
				What: fmt.Sprintf("the last look into %s, at %s, found %q owned by token %s without an expiry: it stays locked for ever",
					node, at(look.time), k.name, state.Token),
				Blame: d.blamer.forNoExpiry(node, k.name, look.index),
			})
		}
	}
	return found
}
