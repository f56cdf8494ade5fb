package checker

import (
	"fmt"
	"slices"

	"lockproof/harness/history"
)

// faultTolerance: while a client can reach a healthy majority and the lock is
// free, it gets the lock within Bounds.Grant (redis.io, "Liveness property B").
//
// A client's wait is cut by every lease and every other attempt on the key, and
// by the stretches for which fewer than a majority of the nodes were up, well
// connected to it, and free of another's key. A remaining stretch longer than
// the bound is a violation.
func (r *run) faultTolerance() Result {
	var violations []Violation
	for _, k := range r.keys {
		violations = append(violations, r.ungranted(k, len(violations))...)
	}
	inTime := r.grantedInTime()
	measured := r.latencies()
	measured["granted_in_time"] = int64(inTime)
	measured["longest_gap"] = r.longestGap().length()
	result := settle(history.FaultTolerance, violations, measured)
	switch {
	case result.Verdict != history.Holds:
	case r.header.Bounds.Grant <= 0:
		result.undecide(Vacuous, "the run states no bound for a grant")
	case inTime == 0:
		result.undecide(Vacuous, "nobody asked for a free lock with a healthy majority in reach")
	}
	return result
}

// ungranted finds the waits for a key that lasted too long although nothing
// was in the way.
func (r *run) ungranted(k *keyed, known int) []Violation {
	bound := r.header.Bounds.Grant
	if bound <= 0 {
		return nil
	}
	var found []Violation
	busy := perClient{}
	var claims []claim
	for _, o := range k.acquires {
		if o.done-o.asked <= bound {
			continue
		}
		if claims == nil {
			claims = k.claims(false)
		}
		own := busy.of(o.process, func() []span { return busyFor(claims, o.process) })
		for _, clear := range r.clear(o, own, r.ways[o.process].unreachable) {
			found = append(found, r.ungrantedViolation(o, clear, known+len(found)))
		}
	}
	return found
}

// busyFor gives the stretches for which a key was held by anybody, or tried for
// by clients other than this.
func busyFor(claims []claim, client name) []span {
	var spans []span
	for _, c := range claims {
		if !c.attempt || c.client != client {
			spans = merge(spans, c.span)
		}
	}
	return spans
}

// clear gives the stretches of a wait, longer than the bound, in which nothing
// was in the way. The nodes' keys are looked at last: few waits get that far.
func (r *run) clear(o *operation, busy, cutOff []span) []span {
	bound := r.header.Bounds.Grant
	var found []span
	for _, free := range (span{o.asked, o.done}).without(busy) {
		for _, connected := range free.without(cutOff) {
			if connected.length() <= bound {
				continue
			}
			for _, clear := range connected.without(r.obstructed(o)) {
				if clear.length() > bound {
					found = append(found, clear)
				}
			}
		}
	}
	return found
}

// obstructed gives the stretches of a wait for which too few nodes were both
// healthy for the client and free of another's key. Keys that the client set
// during this wait are its own attempts and no obstacle.
func (r *run) obstructed(o *operation) []span {
	nodes := map[string][]span{}
	for _, node := range r.header.Nodes {
		nodes[node] = r.unhealthy(r.name(o.process), node)
	}
	for _, h := range r.key(o.key).tenures {
		own := h.owner == o.process && h.from >= o.asked
		if !own && h.from < o.done && h.until > o.asked {
			node := r.name(h.node)
			nodes[node] = append(nodes[node], span{h.from, h.until})
		}
	}
	var sets [][]span
	for _, spans := range nodes {
		sets = append(sets, spans)
	}
	return covered(r.blocking(), sets)
}

func (r *run) ungrantedViolation(o *operation, clear span, index int) Violation {
	client, key := r.name(o.process), r.name(o.key)
	v := Violation{
		Key: key, From: clear.from, Until: clear.until, Processes: []string{client},
		What: fmt.Sprintf("%s asked for %q at %s; from %s to %s it was free and %s reached a healthy majority, but was not granted it for %s; the bound is %s",
			client, key, at(o.asked), at(clear.from), at(clear.until), client, lasting(clear.length()), lasting(r.header.Bounds.Grant)),
	}
	if index < maxViolations {
		v.Blame = r.blameUnavailable(o, clear)
	}
	return v
}

// grantedInTime counts the grants that came within the bound after the lock
// was free and a healthy majority in reach; competitors may have been there.
func (r *run) grantedInTime() int {
	inTime := make([]int, len(r.keys))
	sideBySide(len(r.keys), func(i int) { inTime[i] = r.grantedInTimeOn(r.keys[i]) })
	total := 0
	for _, n := range inTime {
		total += n
	}
	return total
}

func (r *run) grantedInTimeOn(k *keyed) int {
	leases := spansOf(k.leases)
	n := 0
	var clear []span
	busy := perClient{}
	for _, o := range k.acquires {
		if !o.ok() {
			continue
		}
		own := busy.of(o.process, func() []span {
			if unreachable := r.ways[o.process].unreachable; len(unreachable) > 0 {
				return unionInto(nil, unreachable, leases)
			}
			return leases
		})
		clear = span{o.asked, o.done}.appendWithout(clear[:0], own)
		if len(clear) == 0 {
			continue
		}
		last := clear[len(clear)-1]
		if last.until == o.done && last.length() <= r.header.Bounds.Grant {
			n++
		}
	}
	return n
}

// latencies gives the number of grants and how long acquires took.
func (r *run) latencies() map[string]int64 {
	took := make([]int64, 0, len(r.operations.grants))
	for o := range r.operations.kept.all() {
		if o.granted() {
			took = append(took, o.done-o.asked)
		}
	}
	measured := map[string]int64{"grants": int64(len(took))}
	if len(took) > 0 {
		slices.Sort(took)
		measured["acquire_p50"] = took[(len(took)-1)*50/100]
		measured["acquire_p99"] = took[(len(took)-1)*99/100]
	}
	return measured
}

// longestGap is the longest stretch without a grant of any key while somebody
// was waiting for one.
func (r *run) longestGap() span {
	grants := r.operations.grants
	var waiting, best span
	gap := func() { // of the merged waits that are over
		for len(grants) > 0 && grants[0] < waiting.until {
			best = longest([]span{best, {waiting.from, grants[0]}})
			waiting.from, grants = max(waiting.from, grants[0]), grants[1:]
		}
		best = longest([]span{best, waiting})
	}
	for o := range r.operations.kept.all() { // in the order of asked
		switch {
		case o.op != opAcquire:
		case o.asked <= waiting.until:
			waiting.until = max(waiting.until, o.done)
		default:
			gap()
			waiting = span{o.asked, o.done}
		}
	}
	gap()
	return best
}
