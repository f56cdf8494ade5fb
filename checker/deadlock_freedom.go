package checker

import (
	"fmt"
	"sort"

	"lockproof/harness/history"
)

// deadlockFreedom: once faults are healed and holders gone, a waiting client
// gets the lock within Bounds.Free (redis.io, "Liveness property A"); nobody
// keeps it by extensions for longer than Bounds.Tenure while another waits;
// and no key is left without an expiry.
//
// A client's wait is cut at every moment from which on the lock may need some
// time again: when another lease ends, when another attempt ends without a
// grant (and leaves its keys to be cleaned up), when a fault heals; and while a
// fault is in the client's way the bound does not run. What is left are the
// stretches in which the lock stood free while the client waited. One that is
// longer than the bound is a violation. A wait that ended before the bound
// shows nothing.
func (r *run) deadlockFreedom() Result {
	var violations []Violation
	violations = append(violations, r.neverExpiring()...)
	measured := map[string]int64{}
	rivals := newPerClient()
	for _, key := range r.keys {
		w := r.waits(key)
		violations = append(violations, w.tooLong(len(violations))...)
		violations = append(violations, r.tooLongHeld(key, len(violations))...)
		waited, handovers := w.earned(rivals)
		measured["waited"] += int64(waited)
		measured["handovers"] += int64(handovers)
		measured["longest_wait"] = max(measured["longest_wait"], w.longestWait())
		measured["longest_free"] = max(measured["longest_free"], w.longestFree)
	}
	sort.SliceStable(violations, func(i, j int) bool { return violations[i].From < violations[j].From })
	result := settle(history.DeadlockFreedom, violations, measured)
	switch {
	case result.Verdict != history.Holds:
	case r.header.Bounds.Free <= 0:
		result.undecide("vacuous: the run states no bound for a wait")
	case measured["waited"] == 0 && measured["handovers"] == 0:
		result.undecide("vacuous: nobody was granted a lock that had been in use")
	}
	return result
}

// waits are the waits for one key.
type waits struct {
	run *run
	key string
	// busy are the leases of the key and, as points, the ends of attempts
	// without a grant: disjoint, in order.
	busy []span
	// longestFree is the longest stretch that the lock stood free while
	// somebody waited; filled by tooLong.
	longestFree int64
}

func (r *run) waits(key string) *waits {
	w := &waits{run: r, key: key}
	busy := spansOf(r.leases[key])
	for _, o := range r.acquires[key] {
		if o.outcome == history.TypeFail || o.outcome == history.TypeInfo {
			busy = append(busy, span{o.done, o.done})
		}
	}
	w.busy = union(busy)
	return w
}

// tooLong finds the waits during which the lock stood free for too long.
func (w *waits) tooLong(known int) []Violation {
	r, bound := w.run, w.run.header.Bounds.Free
	var found []Violation
	var gaps, left []span
	for _, o := range r.acquires[w.key] {
		unsettled := r.ways[o.Process].unsettled
		gaps = span{o.asked, o.done}.appendWithout(gaps[:0], w.busy)
		for _, gap := range gaps {
			left = gap.appendWithout(left[:0], unsettled)
			free := longest(left)
			w.longestFree = max(w.longestFree, free.length())
			if bound > 0 && free.length() > bound {
				found = append(found, r.waitViolation(o, free, known+len(found)))
			}
		}
	}
	return found
}

// waitViolation tells of a wait during which the lock stood free for too long.
func (r *run) waitViolation(o *operation, free span, index int) Violation {
	ending := "and was not granted it by then"
	if o.ok() && o.done == free.until {
		ending = "before it was granted it"
	}
	v := Violation{
		Key: o.Key, From: free.from, Until: free.until, Processes: []string{o.Process},
		What: fmt.Sprintf("%s waited for %q from %s; from %s to %s nobody held it and no fault was in the way, %s: %s, where %s is the bound",
			o.Process, o.Key, at(o.asked), at(free.from), at(free.until), ending, lasting(free.length()), lasting(r.header.Bounds.Free)),
	}
	if index < maxViolations {
		v.Blame = r.blameWait(o, free)
	}
	return v
}

// earned counts the grants that show something: those that had to wait behind
// a lease, a fault, or another's key that lingered on the nodes; and those of a
// lock that another client had held, or tried for, at most Bounds.Free before.
// rivals lends its memory.
func (w *waits) earned(rivals *perClient) (waited, handovers int) {
	r := w.run
	rivals.next()
	leases := spansOf(r.leases[w.key])
	obstacles := map[string][]span{}
	claims := claimsOn(r.acquires[w.key], r.leases[w.key], nil)
	for _, o := range r.acquires[w.key] {
		if !o.ok() {
			continue
		}
		if _, done := obstacles[o.Process]; !done {
			obstacles[o.Process] = union(append(r.lingering(w.key, o.Process), r.ways[o.Process].disturbed...))
		}
		// The moment of the grant belongs to the lease that it begins.
		wait := span{o.asked, o.done - 1}
		if wait.meets(leases) || wait.meets(obstacles[o.Process]) {
			waited++
		}
		contenders := rivals.of(o.Process, func(into []span) []span { return others(into, claims, o.Process) })
		if (span{o.asked - r.header.Bounds.Free, o.done - 1}).meets(contenders) {
			handovers++
		}
	}
	return waited, handovers
}

// spansOf gives the stretches for which a key was held.
func spansOf(leases []Lease) []span {
	spans := make([]span, 0, len(leases))
	for _, l := range leases {
		spans = append(spans, span{l.From, l.Until})
	}
	return union(spans)
}

// others appends the stretches for which clients other than this held a key or
// tried to, from all claims on it.
func others(spans []span, claims []claim, client string) []span {
	for _, c := range claims {
		if c.client != client {
			spans = merge(spans, c.span)
		}
	}
	return spans
}

// lingering gives the stretches for which a key was owned by others than a
// client on enough nodes to block it.
func (r *run) lingering(key, client string) []span {
	nodes := map[string][]span{}
	for _, h := range r.tenures[key] {
		if h.Owner != client {
			nodes[h.Node] = append(nodes[h.Node], span{h.From, h.Until})
		}
	}
	var sets [][]span
	for _, node := range keysOf(nodes) {
		sets = append(sets, nodes[node])
	}
	return covered(r.blocking(), sets)
}

// longestWait is the longest time from the call of a granted acquire to its grant.
func (w *waits) longestWait() int64 {
	var best int64
	for _, o := range w.run.acquires[w.key] {
		if o.ok() {
			best = max(best, o.done-o.asked)
		}
	}
	return best
}

// tooLongHeld finds the leases that were kept for longer than Bounds.Tenure
// while another client waited all the time.
func (r *run) tooLongHeld(key string, known int) []Violation {
	bound := r.header.Bounds.Tenure
	if bound <= 0 {
		return nil
	}
	var found []Violation
	for _, l := range r.leases[key] {
		if l.Until-l.From <= bound {
			continue
		}
		for _, o := range r.acquires[key] {
			both := span{max(l.From, o.asked), min(l.Until, o.done)}
			if o.Process != l.Client && both.length() > bound {
				found = append(found, r.tenureViolation(l, o, both, known+len(found)))
			}
		}
	}
	return found
}

func (r *run) tenureViolation(l Lease, o *operation, both span, index int) Violation {
	v := Violation{
		Key: l.Key, From: both.from, Until: both.until, Processes: []string{l.Client, o.Process},
		What: fmt.Sprintf("%s kept %q from %s to %s while %s waited for it for %s of that time; the bound is %s",
			l.Client, l.Key, at(l.From), at(l.Until), o.Process, lasting(both.length()), lasting(r.header.Bounds.Tenure)),
		Leases: []Lease{l},
	}
	if index < maxViolations {
		v.Blame = r.blameTenure(l, both)
	}
	return v
}

// neverExpiring finds the keys without an expiry in the last look into each node.
func (r *run) neverExpiring() []Violation {
	last := map[string]int{}
	for _, e := range r.rare {
		if e.Type == history.TypeNode && e.Node != nil && e.Node.Up {
			last[e.Process] = e.index
		}
	}
	var found []Violation
	for _, node := range keysOf(last) {
		look := r.event(last[node])
		for _, key := range r.keys {
			state, present := look.Node.Keys[key]
			if !present || state.TTL >= 0 || state.Token == "" {
				continue
			}
			found = append(found, Violation{
				Key: key, From: look.Time, Until: r.end, Processes: []string{node},
				What: fmt.Sprintf("the last look into %s, at %s, found %q owned by token %s without an expiry: it is locked for ever",
					node, at(look.Time), key, state.Token),
				Blame: r.blameNoExpiry(node, key, last[node]),
			})
		}
	}
	return found
}
