package checker

import (
	"fmt"
	"slices"

	"lockproof/harness/history"
)

// leftover is a SET that reached a node and was never answered, and those that the node
// refused afterwards because of the key that it left.
type leftover struct {
	exchange
	refused []exchange // in order; at least one
	named   bool       // some refusal names its token
}

// there is for how long the key is known to have been there.
func (l leftover) there() span { return span{l.asked, l.refused[len(l.refused)-1].answered} }

// lateSet explains refusals by a key that nobody was told of having set: its SET was never
// answered, as one that arrives on a connection which its client has closed. The node names
// its token to others; or, where a lock does not ask for that, nobody else can have had the
// key there, and for most of the wait too few nodes were left.
func (b *waitBlame) lateSet() *Blame {
	blocked := map[string][]span{}
	for _, node := range b.header.Nodes {
		blocked[node] = b.reach().unhealthy(b.name(b.by.process), node)
	}
	var found []leftover
	for _, l := range b.leftovers() {
		if l.named {
			return b.forLeftover(l)
		}
		found = append(found, l)
		blocked[l.node] = append(slices.Clip(blocked[l.node]), l.there())
	}
	var sets [][]span
	for _, node := range b.header.Nodes {
		sets = append(sets, blocked[node])
	}
	if len(found) == 0 || !b.mostOfIt(covered(b.blocking(), sets)) {
		return nil
	}
	blame := b.forLeftover(found[0])
	for _, l := range found[1:] {
		if blame != nil {
			blame.restingOn(l.command, l.refused[0].reply, l.refused[len(l.refused)-1].reply)
		}
	}
	return blame
}

// leftovers gives those of others that kept the client out while it waited, by when they
// reached their nodes.
func (b *waitBlame) leftovers() []leftover {
	var found []leftover
	all := b.ofKey()
	for i, x := range all {
		gone := x.asked > b.free.until || x.expires() < b.by.asked
		if x.effect != history.EffectSet || x.reply >= 0 || x.client == b.name(b.by.process) || x.token == "" || gone {
			continue
		}
		if l := (leftover{exchange: x}); b.standsIn(&l, all, i) && slices.ContainsFunc(l.refused, b.inTheWait) {
			found = append(found, l)
		}
	}
	return found
}

func (b *waitBlame) inTheWait(r exchange) bool {
	return r.client == b.name(b.by.process) && r.asked >= b.by.asked && r.answered <= b.free.until
}

// ofKey gives the exchanges about the key that is waited for.
func (b *waitBlame) ofKey() []exchange {
	return slices.DeleteFunc(slices.Clone(b.exchanges()), func(x exchange) bool { return x.key != b.name(b.by.key) })
}

// standsIn collects what a node refused because of a SET without an answer: from there on
// until the node is seen to have given the key to another, or to have deleted it, or until it
// expires. What names no token counts if the node had nobody's key, neither then nor when the
// SET came, and had refused nobody before.
func (b *waitBlame) standsIn(l *leftover, all []exchange, at int) bool {
	var named, unnamed []exchange
	gone := false
	for _, x := range all[at+1:] {
		switch {
		case x.node != l.node || x.effect == history.EffectDelete && x.token != l.token && x.token != "":
		case x.effect == history.EffectDelete, x.done:
			gone = true
		case x.refused && x.holder == l.token:
			named = append(named, x)
		case x.refused && x.client != l.client && !gone && x.asked < l.expires() && b.owner(x.node, x.asked) == nil:
			unnamed = append(unnamed, x)
		}
	}
	l.refused, l.named = named, len(named) > 0
	if !l.named && !b.takenBefore(l, all[:at]) {
		l.refused = unnamed
	}
	return len(l.refused) > 0
}

// takenBefore reports whether a key was on the node already when a SET came.
func (b *waitBlame) takenBefore(l *leftover, before []exchange) bool {
	return b.owner(l.node, l.asked) != nil || slices.ContainsFunc(before, func(x exchange) bool {
		return x.node == l.node && x.refused && x.expires() > l.asked && b.owner(x.node, x.asked) == nil
	})
}

// owner gives the key that a node is known to have at a time, nil for none.
func (b *waitBlame) owner(node string, t int64) *holding {
	for _, h := range b.key(b.by.key).tenures {
		if b.name(h.node) == node && h.from <= t && t < h.until {
			return h
		}
	}
	return nil
}

// forLeftover tells whether a key that was left behind came after its release, or could not
// be given back, or was not, though its client's attempt had ended. Nil: its client may still
// be about to clear it away.
func (b *waitBlame) forLeftover(l leftover) *Blame {
	first, last := l.refused[0], l.refused[len(l.refused)-1]
	blame := func(event int, broke, how string, args ...any) *Blame {
		return b.blame(event, broke, "%s's SET reached %s at %s and was never answered%s; its key kept %s out",
			l.client, l.node, at(l.asked), fmt.Sprintf(how, args...), b.name(b.by.process)).
			restingOn(l.command, first.reply, last.reply)
	}
	tried := false
	for _, d := range b.ofKey() {
		release := d.effect == history.EffectDelete && d.node == l.node && (d.token == l.token || d.token == "" && d.client == l.client)
		if release && d.asked < l.asked {
			return blame(l.command, "ReleaseAfterSet", ", after its release had been there at %s", at(d.asked)).restingOn(d.command)
		}
		tried = tried || release && d.asked <= last.asked
	}
	ended, over := b.overFor(l)
	if !over || tried {
		if l.named {
			return blame(l.command, Unexplained, "")
		}
		return nil
	}
	for _, f := range b.faults {
		between := f.target == l.client+"-"+l.node && f.class.HindersLink() && !b.reach().far(f) || f.target == l.client && f.class.StopsClient()
		if between && min(f.until, last.asked)-max(f.from, l.asked) > precision {
			return blame(f.event, ReleaseArrives, ", and %s, so it could not give its key back", f.describe())
		}
	}
	return blame(l.command, "ReleaseEverywhere", ", and no release followed by %s, though its attempt had ended at %s without a lease",
		at(last.asked), at(ended.done)).restingOn(int(ended.end))
}

// overFor gives the attempt that a SET without an answer was of: one that had ended without a
// lease by the time of the first refusal, and its client was not killed and asked for nothing else.
func (b *waitBlame) overFor(l leftover) (ended *operation, over bool) {
	first := l.refused[0].asked
	for _, o := range b.key(b.by.key).acquires {
		if b.name(o.process) != l.client || o.asked > first {
			continue
		}
		if o.outcome != failed && o.outcome != indefinite || o.done > first {
			return nil, false
		}
		if ended == nil || o.done > ended.done {
			ended = o
		}
	}
	if ended == nil {
		return nil, false
	}
	_, killed := b.kills.first(ended.process, 0)
	return ended, !killed
}
