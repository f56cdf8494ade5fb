package checker

import (
	"cmp"
	"sort"

	"example.org/lockproof/harness/history"
)

// analysis is a record with the derived data that several properties need.
type analysis struct {
	*record
	counts counts
	impact *faultImpact
	// keysUnknown is why the owners of the lock's keys are unknown; "": they are known.
	keysUnknown string
	missing     string // which operations the history lacks; "": none
}

// analyse adds the timeline to a record and derives its analysis.
func analyse(r *record) (*analysis, error) {
	if err := readTimeline(r); err != nil {
		return nil, err
	}
	for _, k := range r.keys {
		k.inferTokens()
	}
	a := &analysis{record: r, keysUnknown: r.names.unknownReason(r.keys), missing: r.operations.missing()}
	a.impact = newFaultImpact(r, a.keysUnknown != "")
	a.counts = countsOf(a)
	for _, k := range r.keys {
		k.held, k.waits = spansOf(k.leases), k.waitPeriods(cmp.Or(r.header.Bounds.Grant, r.header.Bounds.Free))
		a.findObstacles(k)
		k.unreachable = k.byClient(func(client string) []span { return r.unreachable(client, k, false) })
		k.excused = k.byClient(func(client string) []span { return union(k.unreachable[client], r.starved(client)) })
	}
	return a, nil
}

// counts are the counts that distinguish an earned verdict from a vacuous one.
type counts struct {
	grants    int // acquires with a usable lease (see leaseBuilder.end)
	contended int // acquires that overlap another client's acquire, lease or key on a node
	faults    int // effective faults that affected a lease or an acquire
	writes    int // acknowledged writes at the store
	refused   int // acquires and extends that failed
	rejected  int // failed writes: the store rejected them, or the client gave up
}

func countsOf(a *analysis) counts {
	c := counts{faults: effectiveFaults(a.record, a.impact)}
	for _, o := range a.operations.kept {
		switch {
		case o.leased:
			c.grants++
		case o.op == history.OpWrite && o.ok():
			c.writes++
		case o.op == history.OpWrite && o.outcome == failed:
			c.rejected++
		case (o.op == history.OpAcquire || o.op == history.OpExtend) && o.outcome == failed:
			c.refused++
		}
	}
	for _, k := range a.keys {
		c.contended += k.contended(a.keysUnknown == "")
	}
	return c
}

// effectiveFaults counts the effective faults with an impact during a lease or an acquire. Background faults do not
// count: they are there from the start.
func effectiveFaults(r *record, e *faultImpact) int {
	if len(r.faults) == 0 {
		return 0
	}
	var work []span
	for _, k := range r.keys {
		for _, o := range k.acquires {
			work = append(work, span{o.invoked, o.done})
		}
		for _, l := range k.leases {
			work = append(work, span{l.from, l.until})
		}
	}
	work = union(work)
	affecting := map[int]bool{} // by event: a fault on three nodes is one fault
	for _, f := range r.faults {
		if f.cause.Effective && !f.cause.Background && !e.hadNoEffect(f) && f.touches(work) {
			affecting[f.event] = true
		}
	}
	return len(affecting)
}

// inferTokens finds the tokens of leases. If the lock does not show a token, it is the one that the client's keys have
// on most nodes at the grant, of the keys that it set during the acquire.
func (k *keyed) inferTokens() {
	var taken map[string][]*keyOwnership // by client, only if a lease shows no token
	for _, o := range k.acquires {
		if o.keyToken = o.token; o.token != "" || !o.ok() {
			continue
		}
		if taken == nil {
			taken = map[string][]*keyOwnership{}
			for _, h := range k.ownerships {
				taken[h.owner] = append(taken[h.owner], h)
			}
		}
		nodes, most := map[string]int{}, 0
		keys := taken[o.process]
		first := sort.Search(len(keys), func(i int) bool { return keys[i].from >= o.invoked })
		for _, h := range keys[first:] {
			if h.from > o.done {
				break
			}
			if h.until < o.done {
				continue
			}
			if nodes[h.token]++; nodes[h.token] > most {
				most, o.keyToken = nodes[h.token], h.token
			}
		}
	}
}

// scaledBound scales a bound by a client's clocks if these run at a wrong rate.
func (a *analysis) scaledBound(bound int64, client string, during span) int64 {
	return int64(float64(bound) * a.clocks.timerFactor(client, during))
}
