package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// Fact is something that the history shows of a violation, with its event. It says what
// happened and blames nobody: what caused a violation, experiments show (checker/cause).
type Fact struct {
	Event   int    `json:"event"` // its index in the history, from 0; -1: time alone did it
	Time    int64  `json:"time"`
	Process string `json:"process"`
	What    string `json:"what"` // one sentence
}

// maxFacts is how many facts a violation has; what is said of several nodes is one.
const maxFacts = 6

// seen is a fact about a node. Facts with the same words are told together.
type seen struct {
	event int32
	time  int64
	// what has %s where the nodes are named.
	what, node string
}

// told is that a fault befell its target.
func (f fault) told() seen {
	return seen{int32(f.event), f.from, "%s " + cmp.Or(f.cause.Past, "suffered "+f.cause.Kind), f.target}
}

// together makes facts of what was seen, in the order of time.
func together(all []seen) []Fact {
	slices.SortStableFunc(all, func(a, b seen) int { return cmp.Compare(a.time, b.time) })
	var facts []Fact
	var nodes [][]string
	place := map[string]int{}
	for _, s := range all {
		i, known := place[s.what]
		if !known {
			i = len(facts)
			place[s.what] = i
			facts = append(facts, Fact{Event: int(s.event), Time: s.time, Process: s.node, What: s.what})
			nodes = append(nodes, nil)
		}
		if !slices.Contains(nodes[i], s.node) {
			nodes[i] = append(nodes[i], s.node)
		}
	}
	for i := range facts {
		slices.Sort(nodes[i])
		facts[i].What = strings.Replace(facts[i].What, "%s", strings.Join(nodes[i], ", "), 1)
	}
	return facts[:min(len(facts), maxFacts)]
}

// overlapFacts tell what had become of the first lease's key on the nodes that then gave
// the key to the second: whose it was, which command deleted it, when it ran out; and what
// took so long that the first lease rested on keys that were gone.
func (r *record) overlapFacts(o overlap) []Fact {
	first, second := r.owned(o.first, o.second.from), r.owned(o.second, o.second.from)
	var all, besides []seen
	for _, node := range keysOf(second) {
		got := second[node]
		had := first[node]
		switch {
		case o.first.grant.token != "" && o.first.grant.token == o.second.grant.token:
			all = append(all, seen{got.set, got.from,
				fmt.Sprintf("the key on %%s has the one token of both %s and %s", o.first.client, o.second.client), node})
		case had == nil || had.from > got.from:
			besides = append(besides, seen{got.set, got.from,
				fmt.Sprintf("%s got the key on %%s, where %s had none", o.second.client, o.first.client), node})
		default:
			all = append(all, r.gone(o, had, node))
			if s, late := r.landedAfterRelease(o.first, had, node); late {
				all = append(all, s)
			}
		}
	}
	if s, slow := r.slowReply(o.first, o.first.until); slow {
		all = append(all, s)
	}
	if s, slow := r.slowReply(o.second, o.second.from); slow { // of two that begin at one instant either may be the first
		all = append(all, s)
	}
	if len(all) == 0 { // what explains the overlap has to be that
		all = besides
	}
	return together(all)
}

// gone tells how a key of the first lease ended.
func (r *record) gone(o overlap, h *keyOwnership, node string) seen {
	owner := o.first.client
	ended := map[string]string{
		TenureForgotten: "was forgotten on %s, which had gone down",
		TenureFlushed:   "was flushed on %s", TenureEvicted: "was evicted on %s",
		TenureResynced: "was lost on %s, as its master's state replaced its own",
		TenureVanished: "had gone from %s; no event of the history took it",
		TenureOpen:     "was on %s, and the key was set over it",
		TenureDeleted:  "was deleted on %s by " + owner + "'s own command",
		TenureMoved:    "went from %s when its slot moved",
		TenureRemoved:  "was deleted on %s by a command of " + h.by,
	}[h.ended]
	if h.ended == TenureExpired {
		ended = fmt.Sprintf("ran out on %%s, while %s believed in its lease until %s", owner, formatTime(o.first.until))
		if wall := r.clocks.wall[h.node]; len(wall) > 0 {
			ended = "ran out by the clock of %s, which had been set"
		}
	}
	event := h.ender
	if event < 0 {
		event = h.set
	}
	return seen{event, h.until, owner + "'s key " + ended, node}
}

// landedAfterRelease tells of a SET that a node carried out after the client had sent it
// the delete that takes the key back.
func (r *record) landedAfterRelease(l lease, h *keyOwnership, node string) (seen, bool) {
	if l.ended != EndedRelease || h.from <= l.until {
		return seen{}, false
	}
	return seen{h.set, h.from,
		fmt.Sprintf("%s's SET reached %%s after its release of that lease at %s", l.client, formatTime(l.until)), node}, true
}

// slowReply tells how long the grant or extension took on which a belief rests, if a key
// of it had run out by a time.
func (r *record) slowReply(l lease, by int64) (seen, bool) {
	grant, first := r.basis(l, by), by
	for _, h := range r.owned(l, by) {
		if h.ended == TenureExpired {
			first = min(first, h.until)
		}
	}
	if first == by {
		return seen{}, false
	}
	return seen{grant.end, grant.done,
		fmt.Sprintf("%s asked at %s and heard of its success at %s, and a key ran out at %s",
			l.client, formatTime(grant.asked), formatTime(grant.done), formatTime(first)), l.client}, true
}

// writeFacts tell of two updates when their clients' leases began and ended, what stopped or delayed
// the clients meanwhile, and when the store had the updates.
func (r *record) writeFacts(c contradiction) []Fact {
	var all []seen
	for _, a := range []access{c.early, c.late} {
		if !a.write {
			continue
		}
		what := fmt.Sprintf("%s wrote %s", a.client, a.value)
		if a.op.fence > 0 {
			what += fmt.Sprintf(" with fencing token %d", a.op.fence)
		}
		if l, had := r.leaseOf(a.op); had {
			what += fmt.Sprintf(", by the lease that ended at %s (%s)", formatTime(l.until), l.ended)
			all = append(all, seen{l.grant.end, l.grant.done,
				fmt.Sprintf("%s was granted its lease at %s", a.client, formatTime(l.from)), a.client})
			all = append(all, r.stops(a.client, span{l.from, a.ret})...)
		}
		what += fmt.Sprintf("; the store had it by %s", formatTime(min(a.ret, r.end)))
		all = append(all, seen{a.op.end, min(a.ret, r.end), what, a.client})
	}
	return together(all)
}

// stops tell what stopped or delayed a client.
func (r *record) stops(client string, during span) []seen {
	var all []seen
	for _, f := range r.faults {
		if f.target == client && (f.class.StopsClient() || f.class == history.ClientStarved) && f.overlaps(during) {
			all = append(all, f.told())
		}
	}
	return all
}

// leaseOf gives the lease by which something was done at the store.
func (r *record) leaseOf(o *operation) (last lease, found bool) {
	for _, l := range r.key(o.key).leases {
		if l.client == o.process && l.grant.id == o.lease && l.from <= o.asked {
			last, found = l, true
		}
	}
	return last, found
}

// waitFacts tell whose key was on which node while a client waited, and which nodes were
// out of its reach or did not answer.
func (r *record) waitFacts(client, key string, free span) []Fact {
	var all []seen
	for _, h := range r.key(key).tenures {
		there := span{max(h.from, free.from), min(h.until, free.until)}
		if h.owner == client || there.length() <= 0 {
			continue
		}
		owner := "a client that is not known"
		if h.owner != "" {
			owner = h.owner
		}
		lasted := "until " + formatTime(h.until)
		if there.until == free.until {
			lasted = "to the end of the wait"
		}
		all = append(all, seen{h.set, h.from, fmt.Sprintf("a key of %s was on %%s %s", owner, lasted), h.node})
	}
	for _, f := range r.faults {
		if (f.class.StopsNode() || f.class == history.NodeClock) && f.overlaps(free) ||
			f.class.DisturbsLink() && f.overlaps(free) && f.link.From == client {
			all = append(all, f.told())
		}
	}
	return together(all)
}

// tenureFacts tell of the extension with which a lease was kept beyond its bound.
func (r *record) tenureFacts(t tenure, both span) []Fact {
	by := r.basis(t.first, both.from+r.header.Bounds.Tenure)
	return together([]seen{{by.end, by.done,
		fmt.Sprintf("%s extended its lease again at %s", by.process, formatTime(by.done)), by.process}})
}

// leftFacts tell of the keys that a release left.
func (r *record) leftFacts(left leftoverKeys) []Fact {
	var all []seen
	for _, h := range left.left {
		all = append(all, seen{h.set, h.from,
			fmt.Sprintf("the key of %s was on %%s until %s", h.owner, formatTime(h.until)), h.node})
	}
	return together(all)
}

// tokenFacts tell of two grants whose tokens do not grow, and of the nodes that went down
// or forgot their keys meanwhile.
func (r *record) tokenFacts(before, o *operation) []Fact {
	all := []seen{
		{before.end, before.done, fmt.Sprintf("%%s was granted token %d", before.fence), before.process},
		{o.end, o.done, fmt.Sprintf("%%s was granted token %d", o.fence), o.process},
	}
	for _, f := range r.faults {
		if (f.class == history.NodeDown || f.class == history.NodeForgets) && f.from >= before.asked && f.from <= o.done {
			all = append(all, f.told())
		}
	}
	return together(all)
}
