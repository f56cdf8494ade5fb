package checker

import "example.org/lockproof/harness/history"

// counts are the counts that distinguish an earned verdict from a vacuous one.
type counts struct {
	grants    int // acquires with a usable lease (see leaseBuilder.end)
	contended int // acquires that overlap another client's acquire, lease or key on a node
	faults    int // effective faults that affected a lease or an acquire
	writes    int // acknowledged writes at the store
	refused   int // acquires and extends that failed
	rejected  int // failed writes: the store rejected them, or the client gave up
}

func countsOf(r *record) counts {
	c := counts{faults: effectiveFaults(r)}
	for _, o := range r.operations.kept {
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
	for _, k := range r.keys {
		c.contended += k.contended(r.keysUnknown == "")
	}
	return c
}

// effectiveFaults counts the effective faults with an impact during a lease or an acquire. Background faults do not
// count: they are there from the start.
func effectiveFaults(r *record) int {
	if len(r.faults) == 0 {
		return 0
	}
	var work []span
	for _, k := range r.keys {
		for _, o := range k.acquires {
			work = append(work, o.span())
		}
		for _, l := range k.leases {
			work = append(work, l.span)
		}
	}
	work = union(work)
	affecting := map[int]bool{} // by event: a fault on three nodes is one fault
	for _, f := range r.faults {
		if f.Effective && !f.Background && !f.noEffect && f.touches(work) {
			affecting[f.event] = true
		}
	}
	return len(affecting)
}
