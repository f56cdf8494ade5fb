package checker

// analysis is a record with what follows from it for several properties.
type analysis struct {
	*record
	counts     counts
	encounters *encounters
	// unreachable are, for every client that tries to acquire, the stretches for which
	// it could not reach a majority.
	unreachable map[name][]span
}

// analyse makes the analysis of a record, after its timeline.
func analyse(r *record) (*analysis, error) {
	if err := readTimeline(r); err != nil {
		return nil, err
	}
	if err := readAnswers(r); err != nil {
		return nil, err
	}
	met := newEncounters(r)
	a := &analysis{record: r, counts: countsOf(r, met), encounters: met, unreachable: map[name][]span{}}
	reach := r.reach()
	for _, k := range r.keys {
		for _, o := range k.acquires {
			if _, known := a.unreachable[o.process]; !known {
				a.unreachable[o.process] = reach.unreachable(r.name(o.process))
			}
		}
	}
	return a, nil
}

// counts is what happened in a run, to tell an earned verdict from a vacuous one.
type counts struct {
	grants    int // acquires that were granted
	contended int // acquires that met another client's acquire, lease or key on a node
	faults    int // effective faults that met a lease or an acquire
	writes    int // acknowledged writes at the store
	refused   int // acquires and extends that failed
	rejected  int // writes that the store rejected, or that a client gave up
}

// countsOf counts what happened in a run.
func countsOf(r *record, e *encounters) counts {
	c := counts{faults: faultsMet(r, e)}
	for o := range r.operations.kept.all() {
		switch {
		case o.granted():
			c.grants++
		case o.op == opWrite && o.ok():
			c.writes++
		case o.op == opWrite && o.outcome == failed:
			c.rejected++
		case (o.op == opAcquire || o.op == opExtend) && o.outcome == failed:
			c.refused++
		}
	}
	met := make([]int, len(r.keys))
	sideBySide(len(r.keys), func(i int) { met[i] = r.keys[i].contended() })
	for _, n := range met {
		c.contended += n
	}
	return c
}

// faultsMet is how many effective faults met a lease or an acquire. The
// scenario's setting does not count: it is there from the start.
func faultsMet(r *record, e *encounters) int {
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
	work = unionOf(work)
	met := map[int]bool{} // by event: a fault on three nodes is one fault
	for _, f := range r.faults {
		if f.cause.Effective && !f.cause.Setting && !e.inVain(f) && f.meets(work) {
			met[f.event] = true
		}
	}
	return len(met)
}
