package checker

import (
	"cmp"
	"sort"

	"example.org/lockproof/harness/history"
)

// analysis is a record with what follows from it for several properties.
type analysis struct {
	*record
	counts     counts
	encounters *faultImpact
	// doubt is why it is not known whose a key on a node was; "": it is known.
	doubt string
}

// analyse makes the analysis of a record, after its timeline.
func analyse(r *record) (*analysis, error) {
	if err := readTimeline(r); err != nil {
		return nil, err
	}
	for _, k := range r.keys {
		k.tellTokens()
	}
	a := &analysis{record: r, doubt: r.names.doubt(r.keys)}
	a.encounters = newFaultImpact(r, a.doubt != "")
	a.counts = countsOf(a)
	for _, k := range r.keys {
		k.held, k.waits = spansOf(k.leases), k.waitPeriods(cmp.Or(r.header.Bounds.Grant, r.header.Bounds.Free))
		a.findObstacles(k)
		k.unreachable = k.byClient(func(client string) []span { return r.unreachable(client, k, false) })
		k.excused = k.byClient(func(client string) []span { return union(k.unreachable[client], r.starved(client)) })
	}
	return a, nil
}

// counts is what happened in a run, to tell an earned verdict from a vacuous one.
type counts struct {
	grants    int // acquires that were granted a lease: one that is over as it begins is none
	contended int // acquires that met another client's acquire, lease or key on a node
	faults    int // effective faults that met a lease or an acquire
	writes    int // acknowledged writes at the store
	refused   int // acquires and extends that failed
	rejected  int // writes that the store rejected, or that a client gave up
}

// countsOf counts what happened in a run.
func countsOf(a *analysis) counts {
	c := counts{faults: effectiveFaults(a.record, a.encounters)}
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
		c.contended += k.contended(a.doubt == "")
	}
	return c
}

// effectiveFaults is how many effective faults met a lease or an acquire. The
// scenario's setting does not count: it is there from the start.
func effectiveFaults(r *record, e *faultImpact) int {
	if len(r.faults) == 0 {
		return 0
	}
	var work []span
	for _, k := range r.keys {
		for _, o := range k.acquires {
			work = append(work, span{o.asked, o.done})
		}
		for _, l := range k.leases {
			work = append(work, span{l.from, l.until})
		}
	}
	work = union(work)
	met := map[int]bool{} // by event: a fault on three nodes is one fault
	for _, f := range r.faults {
		if f.cause.Effective && !f.cause.Background && !e.hadNoEffect(f) && f.meets(work) {
			met[f.event] = true
		}
	}
	return len(met)
}

// tellTokens finds the tokens of leases. Where a lock does not show one, it is that of the
// keys that its client has on most nodes as it is granted the lease.
func (k *keyed) tellTokens() {
	var taken map[string][]*keyOwnership // by client, where some lock shows no token
	for _, o := range k.acquires {
		if o.keyToken = o.token; o.token != "" || !o.ok() {
			continue
		}
		if taken == nil {
			taken = map[string][]*keyOwnership{}
			for _, h := range k.tenures {
				taken[h.owner] = append(taken[h.owner], h)
			}
		}
		nodes, most := map[string]int{}, 0
		keys := taken[o.process]
		first := sort.Search(len(keys), func(i int) bool { return keys[i].from >= o.asked })
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

// bounded gives a bound for a client, by its own clocks where these run at a wrong rate.
func (a *analysis) bounded(bound int64, client string, during span) int64 {
	return int64(float64(bound) * a.clocks.stretched(client, during))
}
