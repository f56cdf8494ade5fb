package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// Fact is one observation about a violation, with its event. It states what happened, not why: experiments find the
// cause (checker/cause).
type Fact struct {
	Event   int    `json:"event"` // its index in the history, from 0; -1: only time passed
	Time    int64  `json:"time"`
	Process string `json:"process"`
	What    string `json:"what"` // one sentence
}

// maxFacts limits the facts of a violation; one fact about several nodes counts once.
const maxFacts = 6

// nodeFact is a fact about one node, client or link. Facts with equal words are merged.
type nodeFact struct {
	event int32
	time  int64
	// what has %s in place of the nodes' names.
	what, node string
}

func (f fault) fact() nodeFact {
	what := "%s " + cmp.Or(f.Past, "suffered "+f.Kind)
	if f.link.From != "" {
		what = "link " + what
	}
	return nodeFact{int32(f.event), f.from, what, f.target}
}

// pluralSubject adapts a fact about one node or link to several.
var pluralSubject = strings.NewReplacer("link %s was ", "links %s were ", "link %s ", "links %s ",
	"%s was ", "%s were ", "%s had its ", "%s had their ")

// mergeFacts merges equal facts about several nodes, in time order, and keeps the first maxFacts.
func mergeFacts(all []nodeFact) []Fact {
	slices.SortStableFunc(all, func(a, b nodeFact) int { return cmp.Compare(a.time, b.time) })
	var facts []Fact
	var nodes [][]string
	index := map[string]int{}
	for _, s := range all {
		i, known := index[s.what]
		if !known {
			i = len(facts)
			index[s.what] = i
			facts = append(facts, Fact{Event: int(s.event), Time: s.time, Process: s.node, What: s.what})
			nodes = append(nodes, nil)
		}
		if !slices.Contains(nodes[i], s.node) {
			nodes[i] = append(nodes[i], s.node)
		}
	}
	for i := range facts {
		slices.Sort(nodes[i])
		if len(nodes[i]) > 1 {
			facts[i].What = pluralSubject.Replace(facts[i].What)
		}
		facts[i].What = strings.Replace(facts[i].What, "%s", joinNames(nodes[i]), 1)
	}
	return facts[:min(len(facts), maxFacts)]
}

// overlapFacts state, for each node that gave the key to the second lease, how the first lease's key ended there: by
// which command, or by its expiry. They also state which slow replies made a lease rest on expired keys.
func (r *record) overlapFacts(o overlap) []Fact {
	first, second := r.owned(o.first, o.second.from), r.owned(o.second, o.second.from)
	var all, fallback []nodeFact
	for _, node := range keysOf(second) {
		got := second[node]
		had := first[node]
		switch {
		case o.first.grant.token != "" && o.first.grant.token == o.second.grant.token:
			all = append(all, nodeFact{got.set, got.from,
				fmt.Sprintf("%s and %s used the same token for the key on %%s", o.first.client, o.second.client), node})
		case had == nil || had.from > got.from:
			fallback = append(fallback, nodeFact{got.set, got.from,
				fmt.Sprintf("%s set the key on %%s, where %s had none", o.second.client, o.first.client), node})
		default:
			all = append(all, r.endFact(o, had, node))
			if s, late := r.landedAfterRelease(o.first, had, node); late {
				all = append(all, s)
			}
		}
	}
	for _, keys := range []map[string]*keyOwnership{first, second} {
		for _, node := range keysOf(keys) {
			all = append(all, r.foreignExtensions(keys[node], o.second.from)...)
		}
	}
	if s, slow := r.slowReply(o.first, o.first.until); slow {
		all = append(all, s)
	}
	if s, slow := r.slowReply(o.second, o.second.from); slow { // leases that begin together have no order
		all = append(all, s)
	}
	if len(all) == 0 { // the first lease's missing keys are the only explanation left
		all = fallback
	}
	return mergeFacts(all)
}

// endFact states how a key of the first lease ended.
func (r *record) endFact(o overlap, h *keyOwnership, node string) nodeFact {
	owner := o.first.client
	ended := map[string]string{
		OwnershipForgotten: "was lost when %s went down",
		OwnershipFlushed:   "was flushed on %s", OwnershipEvicted: "was evicted on %s",
		OwnershipResynced: "was lost on %s when it loaded its master's data",
		OwnershipVanished: "disappeared from %s; the history does not show why",
		OwnershipOpen:     "was still on %s when another SET replaced it",
		OwnershipDeleted:  "was deleted on %s by " + owner + "'s own command",
		OwnershipMoved:    "left %s when its slot moved",
		OwnershipRemoved:  "was deleted on %s by a command of " + h.by,
	}[h.ended]
	if h.ended == OwnershipExpired {
		ended = fmt.Sprintf("expired on %%s, but %s %s", owner, reliance(o.first))
		if wall := r.clocks.wall[h.node]; len(wall) > 0 {
			ended = "expired by the changed clock of %s"
		}
	}
	event := h.ender
	if event < 0 {
		event = h.set
	}
	return nodeFact{event, h.until, owner + "'s key " + ended, node}
}

// foreignExtensions list the extensions of a key by other clients than its owner, up to a time.
func (r *record) foreignExtensions(h *keyOwnership, by int64) (all []nodeFact) {
	for _, x := range r.prolonged[h] {
		if h.owner != "" && x.process != h.owner && x.time <= by {
			all = append(all, nodeFact{int32(x.event), x.time,
				fmt.Sprintf("a command of %s extended %s's key on %%s", x.process, h.owner), h.node})
		}
	}
	return all
}

// landedAfterRelease reports a SET that a node executed after its client had released the lease.
func (r *record) landedAfterRelease(l lease, h *keyOwnership, node string) (nodeFact, bool) {
	if l.ended != EndedRelease || h.from <= l.until {
		return nodeFact{}, false
	}
	return nodeFact{h.set, h.from,
		fmt.Sprintf("%s's SET reached %%s after %[1]s had released that lease, at %[2]s", l.client, formatTime(l.until)),
		node}, true
}

// slowReply states how long a lease's last grant or extension took, if one of the lease's keys had expired by a time.
func (r *record) slowReply(l lease, by int64) (nodeFact, bool) {
	grant, first := r.basis(l, by), by
	for _, h := range r.owned(l, by) {
		if h.ended == OwnershipExpired {
			first = min(first, h.until)
		}
	}
	if first == by {
		return nodeFact{}, false
	}
	return nodeFact{grant.end, grant.done,
		fmt.Sprintf("%s's %s began at %s and succeeded at %s; one of its keys expired at %s",
			l.client, grant.op, formatTime(grant.invoked), formatTime(grant.done), formatTime(first)), l.client}, true
}

// writeFacts state when the leases of two updates began and ended, what stopped or delayed their clients meanwhile, and
// by when the store had the updates.
func (r *record) writeFacts(c contradiction) []Fact {
	var all []nodeFact
	for _, a := range []access{c.early, c.late} {
		if !a.write {
			continue
		}
		what := fmt.Sprintf("%s wrote %s", a.client, a.value)
		if a.op.fence > 0 {
			what += fmt.Sprintf(" with fencing token %d", a.op.fence)
		}
		if l, had := r.leaseOf(a.op); had {
			what += " under a lease that " + endText(l)
			all = append(all, nodeFact{l.grant.end, l.grant.done,
				fmt.Sprintf("%s was granted its lease at %s", a.client, formatTime(l.from)), a.client})
			all = append(all, r.stops(a.client, span{l.from, a.ret})...)
		}
		what += fmt.Sprintf("; it reached the store by %s", formatTime(min(a.ret, r.end)))
		all = append(all, nodeFact{a.op.end, min(a.ret, r.end), what, a.client})
	}
	return mergeFacts(all)
}

// endText says when and how a lease ended.
func endText(l lease) string {
	how := map[string]string{EndedRelease: "was released", EndedLost: "was reported lost",
		EndedKilled: "ended with its client's death"}
	switch {
	case l.until >= unlimited:
		return "had no deadline"
	case how[l.ended] == "":
		return "was valid until " + formatTime(l.until)
	}
	return how[l.ended] + " at " + formatTime(l.until)
}

// reliance says how long a client relied on its lease.
func reliance(l lease) string {
	if l.until >= unlimited {
		return "considered its lease valid until it released it"
	}
	return "considered its lease valid until " + formatTime(l.until)
}

// stops lists the faults that stopped or starved a client.
func (r *record) stops(client string, during span) []nodeFact {
	var all []nodeFact
	for _, f := range r.faults {
		if f.target == client && (f.Class.StopsClient() || f.Class == history.ClientStarved) && f.overlaps(during) {
			all = append(all, f.fact())
		}
	}
	return all
}

// leaseOf returns the lease under which a client accessed the store.
func (r *record) leaseOf(o *operation) (last lease, found bool) {
	for _, l := range r.key(o.key).leases {
		if l.client == o.process && l.grant.id == o.lease && l.from <= o.invoked {
			last, found = l, true
		}
	}
	return last, found
}

// waitFacts state which clients' keys were on which nodes during a wait, and which faults disturbed the nodes and the
// client's links.
func (r *record) waitFacts(client, key string, free span) []Fact {
	var all []nodeFact
	for _, h := range r.key(key).ownerships {
		there := span{max(h.from, free.from), min(h.until, free.until)}
		if h.owner == client || there.length() <= 0 {
			continue
		}
		whose := "an unknown client's"
		if h.owner != "" {
			whose = h.owner + "'s"
		}
		lasted := "until " + formatTime(h.until)
		if there.until == free.until {
			lasted = "to the end of the wait"
		}
		all = append(all, nodeFact{h.set, h.from, fmt.Sprintf("%s key was on %%s %s", whose, lasted), h.node})
	}
	for _, f := range r.faults {
		if (f.Class.StopsNode() || f.Class == history.NodeClock) && f.overlaps(free) ||
			f.Class.DisturbsLink() && f.overlaps(free) && f.link.From == client {
			all = append(all, f.fact())
		}
	}
	return mergeFacts(all)
}

// holdFacts name the extension that kept a lease beyond its bound.
func (r *record) holdFacts(l lease, both span) []Fact {
	by := r.basis(l, both.from+r.header.Bounds.Tenure)
	return mergeFacts([]nodeFact{{by.end, by.done,
		fmt.Sprintf("%s extended its lease again at %s", by.process, formatTime(by.done)), by.process}})
}

// leftFacts list the keys that a release left.
func (r *record) leftFacts(left leftoverKeys) []Fact {
	var all []nodeFact
	for _, h := range left.left {
		all = append(all, nodeFact{h.set, h.from,
			fmt.Sprintf("%s's key was on %%s until %s", h.owner, formatTime(h.until)), h.node})
	}
	return mergeFacts(all)
}

// tokenFacts state two grants whose tokens do not grow, and the nodes that went down or forgot their keys meanwhile.
func (r *record) tokenFacts(before, o *operation) []Fact {
	all := []nodeFact{
		{before.end, before.done, fmt.Sprintf("%%s was granted token %d", before.fence), before.process},
		{o.end, o.done, fmt.Sprintf("%%s was granted token %d", o.fence), o.process},
	}
	for _, f := range r.faults {
		if (f.Class == history.NodeDown || f.Class == history.NodeForgets) && f.from >= before.invoked && f.from <= o.done {
			all = append(all, f.fact())
		}
	}
	return mergeFacts(all)
}
