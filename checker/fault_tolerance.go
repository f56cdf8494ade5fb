package checker

import (
	"fmt"

	"lockproof/harness/history"
)

// FaultTolerance is the name of a property.
const FaultTolerance = "fault-tolerance"

var _ = declare(Property{
	Name:    FaultTolerance,
	Meaning: "while a client reaches a healthy majority and the lock is free, it gets it within a stated bound",
	Place:   5,
	Brief:   func(_ Violation, length string) string { return "free, and yet not granted: " + length },
	Figures: []Figure{
		{"acquire_p50", "median acquire", true}, {"acquire_p99", "99th percentile", true},
		{"grants", "grants", false}, {"longest_gap", "longest gap", true},
	},
	judge: func(a *analysis, b *blamer, _ oracles) (Result, error) { return (&faultTolerance{a, b}).judge(), nil },
})

// faultTolerance: while a client can reach a healthy majority and the lock is
// free, it gets the lock within Bounds.Grant (redis.io, "Liveness property B").
//
// A client's wait is cut by every lease and every other attempt on the key, and
// by the stretches for which fewer than a majority of the nodes were up, well
// connected to it, and free of another's key. A remaining stretch longer than
// the bound is a violation.
type faultTolerance struct {
	*analysis
	blamer *blamer
}

func (f *faultTolerance) judge() Result {
	var violations []Violation
	for _, k := range f.keys {
		violations = append(violations, f.ungranted(k, len(violations))...)
	}
	inTime := f.grantedInTime()
	measured := f.operations.latencies()
	measured["granted_in_time"] = int64(inTime)
	measured["longest_gap"] = f.operations.longestGap().length()
	result := settle(FaultTolerance, violations, measured)
	switch {
	case result.Verdict != history.Holds:
	case f.header.Bounds.Grant <= 0:
		result.undecide(Vacuous, "the run states no bound for a grant")
	case inTime == 0:
		result.undecide(Vacuous, "nobody asked for a free lock with a healthy majority in reach")
	}
	return result
}

// ungranted finds the waits for a key that lasted too long although nothing
// was in the way.
func (f *faultTolerance) ungranted(k *keyed, known int) []Violation {
	bound := f.header.Bounds.Grant
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
		for _, clear := range f.clear(o, own, f.unreachable[o.process]) {
			found = append(found, f.violation(o, clear, known+len(found)))
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
func (f *faultTolerance) clear(o *operation, busy, cutOff []span) []span {
	bound := f.header.Bounds.Grant
	var found []span
	for _, free := range (span{o.asked, o.done}).without(busy) {
		for _, connected := range free.without(cutOff) {
			if connected.length() <= bound {
				continue
			}
			for _, clear := range connected.without(f.obstructed(o)) {
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
func (f *faultTolerance) obstructed(o *operation) []span {
	nodes := map[string][]span{}
	for _, node := range f.header.Nodes {
		nodes[node] = f.reach().unhealthy(f.name(o.process), node)
	}
	for _, h := range f.key(o.key).tenures {
		own := h.owner == o.process && h.from >= o.asked
		if !own && h.from < o.done && h.until > o.asked {
			node := f.name(h.node)
			nodes[node] = append(nodes[node], span{h.from, h.until})
		}
	}
	var sets [][]span
	for _, spans := range nodes {
		sets = append(sets, spans)
	}
	return covered(f.blocking(), sets)
}

func (f *faultTolerance) violation(o *operation, clear span, index int) Violation {
	client, key := f.name(o.process), f.name(o.key)
	v := Violation{
		Key: key, From: clear.from, Until: clear.until, Processes: []string{client},
		What: fmt.Sprintf("%s asked for %q at %s; from %s to %s it was free and %s reached a healthy majority, but was not granted it for %s; the bound is %s",
			client, key, at(o.asked), at(clear.from), at(clear.until), client, lasting(clear.length()), lasting(f.header.Bounds.Grant)),
	}
	if index < maxViolations {
		v.Blame = f.blamer.forUnavailable(o, clear)
	}
	return v
}

// grantedInTime counts the grants that came within the bound after the lock
// was free and a healthy majority in reach; competitors may have been there.
func (f *faultTolerance) grantedInTime() int {
	inTime := make([]int, len(f.keys))
	sideBySide(len(f.keys), func(i int) { inTime[i] = f.grantedInTimeOn(f.keys[i]) })
	total := 0
	for _, n := range inTime {
		total += n
	}
	return total
}

func (f *faultTolerance) grantedInTimeOn(k *keyed) int {
	leases := spansOf(k.leases)
	n := 0
	var clear []span
	busy := perClient{}
	for _, o := range k.acquires {
		if !o.ok() {
			continue
		}
		own := busy.of(o.process, func() []span {
			if unreachable := f.unreachable[o.process]; len(unreachable) > 0 {
				return unionInto(nil, unreachable, leases)
			}
			return leases
		})
		clear = span{o.asked, o.done}.appendWithout(clear[:0], own)
		if len(clear) == 0 {
			continue
		}
		last := clear[len(clear)-1]
		if last.until == o.done && last.length() <= f.header.Bounds.Grant {
			n++
		}
	}
	return n
}
