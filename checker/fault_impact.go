package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// faultImpact finds the faults without an impact. If the nemesis counted none ([history.Fault], Affected), there is
// none. Else other events of the run decide, by class:
//   - a pause, a kill or a wrong clock of a client affects its operations and its leases;
//   - late timers of a client without a count have no impact: the client was killed before the count;
//   - a wrong clock of a node affects a lock's keys there: it decides when they expire;
//   - a clock that jumps and keeps its rate is wrong at that moment only: later timings are right;
//   - a node that is down, unreachable, or has a memory or disk fault affects a lock's keys there, and each client
//     with a request or a lease, if the lock uses the node, and the client has it or its replica in its list and is
//     not cut off from it all the time; a paused node affects only such a client; what the nemesis counted at a disk
//     counts, too;
//   - the promotion of a replica affects every request and lease from then on;
//   - a fault of any other class has an impact.
type faultImpact struct {
	*record
	active   map[string][]span // by client: its operations and leases
	requests map[string][]span // likewise without releases, checks and accesses to the store
	keys     map[string][]span // by node: a lock's keys there or, if owners are unknown, leases
	lastEnd  int64             // end of the last operation: later events are cleanup
}

// findImpacts marks the faults that affected nothing.
func (r *record) findImpacts() {
	e := newFaultImpact(r)
	for i, f := range r.faults {
		r.faults[i].noEffect = e.hadNoEffect(f)
	}
}

func newFaultImpact(r *record) *faultImpact {
	e := &faultImpact{record: r, active: map[string][]span{}, requests: map[string][]span{}, keys: map[string][]span{}}
	if !slices.ContainsFunc(r.faults, fault.impactUnknown) {
		return e
	}
	for _, o := range r.operations.kept {
		e.active[o.process] = append(e.active[o.process], o.span())
		if e.lastEnd = max(e.lastEnd, o.invoked); o.outcome != underWay || !o.acquiresNothing() {
			e.lastEnd = max(e.lastEnd, o.done)
		}
		if o.acquiresNothing() {
			continue
		}
		if !o.accessesStore() {
			e.requests[o.process] = append(e.requests[o.process], o.span())
		}
	}
	for _, k := range r.keys {
		for _, l := range k.leases {
			e.active[l.client] = append(e.active[l.client], l.span)
			e.requests[l.client] = append(e.requests[l.client], l.span)
			if r.keysUnknown != "" {
				for _, node := range r.usedBy(l.client, k) {
					e.keys[node] = append(e.keys[node], l.span)
				}
			}
		}
	}
	for _, h := range r.ownerships {
		if r.keysUnknown == "" && h.from <= e.lastEnd { // a later key waited on a cut link until that was healed
			e.keys[h.node] = append(e.keys[h.node], h.span)
		}
	}
	for _, all := range []map[string][]span{e.active, e.requests, e.keys} {
		for name, spans := range all {
			all[name] = union(spans)
		}
	}
	return e
}

// hadNoEffect reports whether a fault affected nothing.
func (e *faultImpact) hadNoEffect(f fault) bool {
	if f.hitNothing() {
		return true
	}
	switch f.Class {
	case history.ClientPaused, history.ClientKilled:
		return !f.possible().touches(e.active[f.target])
	case history.ClientClock:
		return !intersectAny(e.clockErrorSpans(f), e.active[f.target])
	case history.ClientStarved:
		return f.impact == nil // its client was killed before the count
	case history.NodeClock:
		return !e.affectedKey(f, e.clockErrorSpans(f))
	case history.NodeDown, history.NodeUnreachable, history.NodeMemory:
		return !e.affectedKey(f, []span{f.possible()}) && !e.affectedClient(f)
	case history.NodeDisk:
		return f.impact == nil && !e.affectedKey(f, []span{f.possible()}) && !e.affectedClient(f)
	case history.NodePaused:
		return !e.affectedClient(f)
	case history.Failover:
		return !slices.ContainsFunc(e.header.Clients,
			func(c string) bool { return f.possible().touches(e.requests[c]) })
	}
	return false
}

// intersectAny reports whether one of some spans touches one of the disjoint, ordered ones.
func intersectAny(some, spans []span) bool {
	return slices.ContainsFunc(some, func(s span) bool { return s.touches(spans) })
}

// clockErrorSpans returns when a clock that a fault set gave wrong timings: at the moment of a jump, and while it ran
// at a wrong rate. If the history does not show the setting, it is the whole time of the fault.
func (e *faultImpact) clockErrorSpans(f fault) (spans []span) {
	known := false
	for _, c := range []clock{e.clocks.wall[f.target], e.clocks.monotonic[f.target]} {
		for i, s := range c {
			if s.from < f.since || s.from > f.from { // a clock is set and read before the fault is recorded
				continue
			}
			known = true
			before := c.setting(i - 1)
			jump := s.reading - before.read(s.from)
			switch {
			case s.rate != 1 || before.rate != 1: // a wrong rate begins or ends
				spans = append(spans, f.possible())
			case jump > precision || jump < -precision:
				spans = append(spans, span{f.since, s.from})
			}
		}
	}
	if !known {
		return []span{f.possible()}
	}
	return spans
}

// affectedKey reports whether a lock's key was on the node during the fault. It is true if the history shows no keys,
// and for replicas. Nobody uses a server that the header does not name.
func (e *faultImpact) affectedKey(f fault, during []span) bool {
	if !slices.Contains(e.header.Nodes, f.target) {
		return e.isReplica(f.target)
	}
	return len(e.keys) == 0 || intersectAny(during, e.keys[f.target])
}

func (e *faultImpact) isReplica(server string) bool { return e.header.Replicas[server] != "" }

// affectedClient reports whether a client had a request, or a lease that it would have to release, while the fault
// lasted and its link to the node was open.
func (e *faultImpact) affectedClient(f fault) bool {
	if !slices.Contains(e.header.Nodes, f.target) {
		return e.isReplica(f.target)
	}
	if e.unused(f.target) {
		return false
	}
	during := f.possible()
	for client, requests := range e.requests {
		if list, some := e.header.ConfiguredNodes[client]; some && !slices.ContainsFunc(list, e.serverOf(f.target)) {
			continue
		}
		cut := e.faults.spans(e.cutSpan, func(c fault) bool {
			return c.Class == history.LinkCut && c.link == history.Link{From: client, To: f.target}
		})
		for _, open := range during.without(cut) {
			if open.touches(requests) {
				return true
			}
		}
	}
	return false
}

// unused reports whether the lock does not use a node: other nodes received commands about it, this one never did, and
// a client of the node was granted the lock while the node was healthy.
func (e *faultImpact) unused(node string) bool {
	if e.header.Quorum > 0 || len(e.names.nodes) == 0 || e.names.nodes[node] {
		return false
	}
	return slices.ContainsFunc(e.operations.kept, func(o *operation) bool {
		return o.leased && slices.Contains(e.nodesOf(o.process), node) &&
			!o.span().touches(e.unhealthy(o.process, node))
	})
}

// serverOf matches the servers that a client contacts for a node: the node itself, and its replicas after a failover.
func (e *faultImpact) serverOf(node string) func(server string) bool {
	return func(server string) bool { return server == node || e.header.Replicas[server] == node }
}

// cutSpan is how long a link was cut. A background cut that lasts beyond the last operation has no end: messages that
// pass after it are not part of the run.
func (e *faultImpact) cutSpan(f fault) span {
	if f.Background && f.until >= e.lastEnd {
		return span{f.from, never}
	}
	return f.span
}
