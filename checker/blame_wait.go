package checker

import (
	"maps"
	"slices"
	"strings"

	"lockproof/harness/history"
)

// waitBlame explains why a client was not granted a lock that stood free, or why its
// release did not return.
type waitBlame struct {
	*blamer
	by   *operation
	free span // while it waited
}

// explain looks for keys that lingered on the nodes, or for attempts that got in one
// another's way, or for a node that was waited for, or for answers that came too late.
func (b *waitBlame) explain() *Blame {
	if h := b.lingerer(); h != nil {
		if blame := b.slowClock(h); blame != nil {
			return blame
		}
		return b.forOrphan(h)
	}
	return b.first(b.lateSet, b.livelock, b.unavailable, b.stuck, b.lost, b.gaveUp)
}

// explainRelease looks for a node that was waited for.
func (b *waitBlame) explainRelease() *Blame { return b.first(b.unavailable, b.stuck, b.lost) }

// first gives the first explanation that there is.
func (b *waitBlame) first(explanations ...func() *Blame) *Blame {
	for _, explain := range explanations {
		if blame := explain(); blame != nil {
			return blame
		}
	}
	if nodes := b.reached(); b.by.op != 0 && len(nodes) < b.majority() {
		where := "no node"
		if len(nodes) > 0 {
			where = strings.Join(nodes, " ") + " alone"
		}
		return b.blame(int(b.by.call), Unexplained, "what %s sent to take the key reached %s: it asked nobody else, or its "+
			"timeout for a node was over before there was a connection", b.name(b.by.process), where)
	}
	return b.blame(int(b.by.call), Unexplained, "the history does not show why %s had to wait", b.name(b.by.process))
}

// reached gives the nodes that a command of the client to take the key reached from its call on.
func (b *waitBlame) reached() []string {
	nodes := map[string]bool{}
	for _, x := range b.exchanges() {
		mine := x.client == b.name(b.by.process) && x.effect == history.EffectSet && x.key == b.name(b.by.key)
		if mine && x.asked >= min(b.by.asked, b.free.from) && x.asked <= b.free.until {
			nodes[x.node] = true
		}
	}
	return keysOf(nodes)
}

// slowClock explains a key that lived longer on the true clock than on its node's.
func (b *waitBlame) slowClock(h *holding) *Blame {
	wall := b.clocks.wall[h.node]
	longer := h.until - h.from - (wall.at(h.until) - wall.at(h.from))
	if longer <= precision {
		return nil
	}
	for _, s := range wrongSettings(wall, b.name(h.node), span{h.from, h.until}) {
		switch {
		case s.back():
			return b.blame(s.event, ClocksAgree, "%s's clock was put back by %s at %s, so %s's key there lived until %s",
				b.name(h.node), lasting(-s.jump), at(s.from), b.name(h.owner), at(h.until)).restingOn(int(h.set))
		case s.rate < 1:
			return b.blame(s.event, ClocksAgree, "%s's clock ran at %.4g from %s on, so %s's key there lived until %s",
				b.name(h.node), s.rate, at(s.from), b.name(h.owner), at(h.until)).restingOn(int(h.set))
		}
	}
	return nil
}

// lingerer gives the key of another that lived longest into a free stretch, if for the
// greater part of it so many nodes had such a key, or were out of the client's reach, that it
// could not be granted the lock.
func (b *waitBlame) lingerer() *holding {
	var longest *holding
	blocked := map[string][]span{}
	for _, node := range b.header.Nodes {
		blocked[node] = b.reach().unhealthy(b.name(b.by.process), node)
	}
	for _, h := range b.key(b.by.key).tenures {
		inWay := h.owner != b.by.process && h.from <= b.free.from+b.header.Bounds.Free && h.until > b.free.from
		if !inWay || h.until-h.from <= b.header.Bounds.Free/2 || b.underWay(h) {
			continue
		}
		node := b.name(h.node)
		blocked[node] = append(slices.Clip(blocked[node]), span{h.from, h.until})
		if longest == nil || h.until > longest.until {
			longest = h
		}
	}
	if !b.mostOfIt(covered(b.blocking(), slices.Collect(maps.Values(blocked)))) {
		return nil
	}
	return longest
}

// mostOfIt reports whether spans, disjoint and in order, cover more than half of the wait.
func (b *waitBlame) mostOfIt(spans []span) bool {
	return b.free.length()-total(b.free.without(spans)) > b.free.length()/2
}

// underWay reports whether an attempt was under way for as long as its key was there: then
// nothing was left behind, and what held the attempt up is to blame.
func (b *waitBlame) underWay(h *holding) bool {
	return slices.ContainsFunc(b.key(b.by.key).acquires, func(o *operation) bool {
		return o.process == h.owner && o.token != h.token && o.asked <= h.from && o.done >= h.until
	})
}

// livelock explains attempts that split the nodes again and again: two clients, at least,
// each took a key on one node more than once, while a rival had one on another, and this
// went on for most of the wait. Who has a majority of the nodes is not kept from the lock by rivals.
func (b *waitBlame) livelock() *Blame {
	var keys []*holding
	for _, h := range b.key(b.by.key).tenures {
		if h.owner != nobody && h.from < b.free.until && h.until > b.free.from && len(keys) < splitsLookedAt {
			keys = append(keys, h)
		}
	}
	if b.mostOfIt(b.majorities(keys)) {
		return nil
	}
	type seat struct{ client, node name }
	split := map[seat][]int{}
	var last int64
	for _, h := range keys {
		rival := func(o *holding) bool {
			return o.owner != h.owner && o.node != h.node && o.from < h.until && h.from < o.until
		}
		if slices.ContainsFunc(keys, rival) {
			s := seat{h.owner, h.node}
			split[s] = append(split[s], int(h.set))
			last = max(last, h.from)
		}
	}
	again := map[string][]int{} // by client, the events
	for s, sets := range split {
		if client := b.name(s.client); len(sets) > 1 && (again[client] == nil || sets[0] < again[client][0]) {
			again[client] = sets[:2]
		}
	}
	clients := keysOf(again)
	ended := last < b.free.from+b.free.length()/2 && len(keys) < splitsLookedAt
	if len(clients) < 2 || ended {
		return nil
	}
	var events []int
	for _, client := range clients {
		events = append(events, again[client]...)
	}
	return b.blame(int(b.by.call), "RetryJitter", "%s tried again and again for %q, each had some nodes at a time, and none got a majority",
		strings.Join(clients, ", "), b.name(b.by.key)).restingOn(events...)
}

// majorities gives the stretches in which one client had keys on a majority of the nodes.
func (b *waitBlame) majorities(keys []*holding) []span {
	had := map[name]map[name][]span{} // by client and node
	for _, h := range keys {
		if had[h.owner] == nil {
			had[h.owner] = map[name][]span{}
		}
		had[h.owner][h.node] = append(had[h.owner][h.node], span{h.from, h.until})
	}
	var all []span
	for _, nodes := range had {
		all = append(all, covered(b.majority(), slices.Collect(maps.Values(nodes)))...)
	}
	return union(all)
}

// splitsLookedAt is at how many keys of a stretch we look: a livelock shows in the first.
const splitsLookedAt = 1000

// unavailable explains a lock that was not granted, or a release that did not return,
// although it should have: a node that did not answer and was waited for, although a
// majority had answered; or one that is down, without which nobody else was asked.
func (b *waitBlame) unavailable() *Blame {
	client := b.name(b.by.process)
	answered, idle := b.answered()
	for _, f := range b.faults {
		node, mine := b.inTheWay(f)
		if !mine || b.answeredUnder(f, node) {
			continue
		}
		if len(answered) >= b.majority() && idle > b.free.length()/2 {
			var events []int
			others := slices.DeleteFunc(keysOf(answered), func(n string) bool { return n == node })
			for _, node := range others {
				events = append(events, answered[node])
			}
			return b.blame(f.event, NodeTimeout,
				"%s, and %s went on waiting for it although %s had answered: it sent nothing to any node for %s",
				f.describe(), client, strings.Join(others, " "), lasting(idle)).restingOn(events...)
		}
		if f.class.SickNode() && !f.class.Pauses() && len(answered) == 0 {
			return b.blame(f.event, MajorityHealthy, "%s; a majority was left, but %s asked no other node",
				f.describe(), client)
		}
	}
	return nil
}

// gaveUp explains attempts, two at least, that took the key on a majority of the nodes, and
// gave all of it back: the nodes had said yes, but too late for a client that waits so long.
func (b *waitBlame) gaveUp() *Blame {
	given := map[text][]*holding{}
	var tokens []text // in the order of their first keys
	for _, h := range b.key(b.by.key).tenures {
		if h.owner != b.by.process || h.ended != deleted || h.from < b.free.from || h.until > b.free.until {
			continue
		}
		if given[h.token] == nil {
			tokens = append(tokens, h.token)
		}
		given[h.token] = append(given[h.token], h)
	}
	tokens = slices.DeleteFunc(tokens, func(t text) bool { return len(given[t]) < b.majority() })
	if len(tokens) < 2 {
		return nil
	}
	var events []int
	for _, h := range slices.Concat(given[tokens[0]], given[tokens[1]]) {
		events = append(events, int(h.set), int(h.ender))
	}
	if f := b.restarted(given[tokens[0]]); f != nil {
		return b.blame(f.event, Unexplained, "the nodes that gave %s the key again and again include %s, which had been down: "+
			"a lock that does not count a node that has just started gives the keys back", b.name(b.by.process), f.target)
	}
	return b.blame(int(given[tokens[0]][0].ender), AnswersInTime,
		"a majority of the nodes gave %s the key again and again, and each time it gave the keys back: their answers came too late for it",
		b.name(b.by.process)).restingOn(events...)
}

// restarted gives a fault that took down one of the nodes of these keys before they were set,
// if those that it befell leave no majority of others; nil otherwise.
func (b *waitBlame) restarted(given []*holding) *fault {
	var first *fault
	left := len(given)
	for _, h := range given {
		i := slices.IndexFunc(b.faults, func(f fault) bool {
			return f.class == history.NodeDown && f.target == b.name(h.node) && f.until <= h.from
		})
		if i < 0 {
			continue
		}
		if left--; first == nil || b.faults[i].event < first.event {
			first = &b.faults[i]
		}
	}
	if left >= b.majority() {
		return nil
	}
	return first
}

// inTheWay gives the node that a fault kept from the client at some time of the stretch,
// false if it did so from none.
func (b *waitBlame) inTheWay(f fault) (node string, mine bool) {
	if f.from >= b.free.until || f.until <= b.free.from {
		return "", false
	}
	client, far, isLink := strings.Cut(f.target, "-")
	if isLink {
		return far, client == b.name(b.by.process) && f.class.HindersLink() && !b.reach().far(f)
	}
	return f.target, f.class.SickNode() && slices.Contains(b.header.Nodes, f.target)
}

// answeredUnder reports whether a node answered the client while a fault was in effect.
func (b *waitBlame) answeredUnder(f fault, node string) bool {
	return slices.ContainsFunc(b.exchanges(), func(x exchange) bool {
		return x.client == b.name(b.by.process) && x.node == node && x.asked >= f.from && x.answered < f.until
	})
}

// answered gives the nodes that answered the client from its call on, each with the first
// such event, and for how long, from the first answer on, the client asked nobody anything:
// breaks of more than half the bound for a grant, which no pause between two attempts is.
func (b *waitBlame) answered() (events map[string]int, idle int64) {
	events = map[string]int{}
	rest := func(from, until int64) {
		if until-from > b.header.Bounds.Grant/2 {
			idle += until - from
		}
	}
	last := int64(never)
	for _, x := range b.exchanges() {
		if x.client != b.name(b.by.process) || x.asked < b.by.asked || x.asked > b.free.until {
			continue
		}
		rest(last, x.asked)
		if x.answered > b.free.until {
			continue
		}
		if _, known := events[x.node]; !known {
			events[x.node] = x.reply
		}
		last = x.answered
	}
	rest(last, b.free.until)
	return events, idle
}
