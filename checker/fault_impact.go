package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// faultImpact tells which faults met nothing. Where the nemesis counts it ([history.Fault],
// Met), its count stands; what nobody can count shows in what the run did meanwhile:
//   - a pause, a death or a wrong clock of a client meets an operation that is under way, or
//     a lease that the client believes in;
//   - a wrong clock of a node meets a key of a lock there, for it decides when that expires;
//   - a clock that jumps and then runs on at its rate is wrong at that moment alone: what is
//     timed from then on is timed right;
//   - a node that is down, that nobody reaches, or whose memory or disk is disturbed meets such
//     a key, or a client that asks, has the node or its replica in its list and is not cut
//     off from it for all that time; one that is paused, such a client;
//   - a replica that becomes a master meets whoever asks for a lock from then on.
type faultImpact struct {
	*record
	busy map[string][]span // by client, while it did something or believed in a lease
	asks map[string][]span // the same without what it did at the store
	keys map[string][]span // by node, while a key of a lock was there, or, where that is not known, a lease
	over int64             // when the last operation was: what comes then is cleared away
}

func newFaultImpact(r *record, doubt bool) *faultImpact {
	e := &faultImpact{record: r, busy: map[string][]span{}, asks: map[string][]span{}, keys: map[string][]span{}}
	if !slices.ContainsFunc(r.faults, fault.impactUnknown) {
		return e
	}
	for _, o := range r.operations.kept {
		e.busy[o.process] = append(e.busy[o.process], span{o.asked, o.done})
		if e.over = max(e.over, o.asked); o.outcome != underWay || !o.ends() {
			e.over = max(e.over, o.done)
		}
		if o.ends() {
			continue
		}
		if !o.stored() {
			e.asks[o.process] = append(e.asks[o.process], span{o.asked, o.done})
		}
	}
	for _, k := range r.keys {
		for _, l := range k.leases {
			e.busy[l.client] = append(e.busy[l.client], span{l.from, l.until})
			e.asks[l.client] = append(e.asks[l.client], span{l.from, l.until})
			if doubt {
				for _, node := range r.usedBy(l.client, k) {
					e.keys[node] = append(e.keys[node], span{l.from, l.until})
				}
			}
		}
	}
	for _, h := range r.held {
		if !doubt && h.from <= e.over { // what waited on a cut link arrives when that is healed
			e.keys[h.node] = append(e.keys[h.node], span{h.from, h.until})
		}
	}
	for _, all := range []map[string][]span{e.busy, e.asks, e.keys} {
		for who, spans := range all {
			all[who] = union(spans)
		}
	}
	return e
}

// hadNoEffect reports whether a fault met nothing.
func (e *faultImpact) hadNoEffect(f fault) bool {
	if f.hitNothing() {
		return true
	}
	switch f.class {
	case history.ClientPaused, history.ClientKilled:
		return !f.possible().meets(e.busy[f.target])
	case history.ClientClock:
		return !intersectAny(e.clockErrorSpans(f), e.busy[f.target])
	case history.ClientStarved:
		return f.impact == nil // its client was killed before anybody could count
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
			func(c string) bool { return f.possible().meets(e.asks[c]) })
	}
	return false
}

// intersectAny reports whether one of some spans meets one of the disjoint, ordered ones.
func intersectAny(some, spans []span) bool {
	return slices.ContainsFunc(some, func(s span) bool { return s.meets(spans) })
}

// clockErrorSpans gives when a clock that a fault set led astray what goes by it: at the moment of a
// jump, and for as long as it runs at a wrong rate. Where the history does not tell how it was
// set, that is as long as the fault lasted.
func (e *faultImpact) clockErrorSpans(f fault) (spans []span) {
	known := false
	for _, c := range []clock{e.clocks.wall[f.target], e.clocks.monotonic[f.target]} {
		for i, s := range c {
			if s.from < f.since || s.from > f.from { // a clock is set, and read, before the fault is told of
				continue
			}
			known = true
			before := c.setting(i - 1)
			jump := s.reading - before.read(s.from)
			switch {
			case s.rate != 1 || before.rate != 1: // it runs wrong, or is put right
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

// affectedKey reports whether a lock's key was on the node while the fault was in effect. A
// history that tells of no keys cannot say, nor does it of replicas.
func (e *faultImpact) affectedKey(f fault, during []span) bool {
	if len(e.keys) == 0 || !slices.Contains(e.header.Nodes, f.target) {
		return true
	}
	return intersectAny(during, e.keys[f.target])
}

// affectedClient reports whether a client asked for a lock, or believed in a lease that it would
// have to release, while the fault lasted and the way to the node was open.
func (e *faultImpact) affectedClient(f fault) bool {
	if !slices.Contains(e.header.Nodes, f.target) {
		return true
	}
	if e.unused(f.target) {
		return false
	}
	during := f.possible()
	for client, asks := range e.asks {
		if list, some := e.header.ConfiguredNodes[client]; some && !slices.ContainsFunc(list, e.serverOf(f.target)) {
			continue
		}
		cut := e.faults.stretches(e.cut, func(c fault) bool {
			return c.class == history.LinkCut && c.link == history.Link{From: client, To: f.target}
		})
		for _, open := range during.without(cut) {
			if open.meets(asks) {
				return true
			}
		}
	}
	return false
}

// unused reports whether a lock was granted to a client of a node that was well all the while, and nobody was ever seen
// to send the node anything about it, though others were.
func (e *faultImpact) unused(node string) bool {
	if e.header.Quorum > 0 || len(e.names.nodes) == 0 || e.names.nodes[node] {
		return false
	}
	return slices.ContainsFunc(e.operations.kept, func(o *operation) bool {
		return o.leased && slices.Contains(e.nodesOf(o.process), node) &&
			!(span{o.asked, o.done}).meets(e.unhealthy(o.process, node))
	})
}

// serverOf tells the servers that a client asks in a node's place: itself, and its replicas,
// which are asked because it has gone.
func (e *faultImpact) serverOf(node string) func(server string) bool {
	return func(server string) bool { return server == node || e.header.Replicas[server] == node }
}

// cut is for how long a link was cut: one of the setting is healed when all is over, and
// nothing that passes then was part of the run.
func (e *faultImpact) cut(f fault) span {
	if f.cause.Background && f.until >= e.over {
		return span{f.from, never}
	}
	return f.span
}
