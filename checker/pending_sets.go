package checker

import (
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// pendingSets are the SETs and extensions that reached a node and have no answer yet, by place:
// their clients may be gone, but the node may have carried them out all the same.
type pendingSets map[place][]pendingSet

// pendingSet is one of them.
type pendingSet struct {
	executedDelete
	link    link
	serial  int64
	expiry  int64
	extends bool // it takes no key that is not there already
}

// add notes a SET or an extension that has reached a node.
func (t pendingSets) add(i int, e *history.Event, l link, p place) {
	sent := executedDelete{l.client, e.Command.Token, e.Time, i}
	extends := e.Command.Effect == history.EffectExtend
	t[p] = append(t[p], pendingSet{sent, l, e.Command.Serial, e.Command.Expiry, extends})
}

// remove forgets the one that a reply answers.
func (t pendingSets) remove(e *history.Event, l link, p place) {
	if i := slices.IndexFunc(t[p],
		func(s pendingSet) bool { return s.link == l && s.serial == e.Command.Serial }); i >= 0 {
		t[p] = slices.Delete(t[p], i, i+1)
	}
}

// behind gives the one that a refused SET shows to have been carried out: the refusal
// names its token, or, where a lock does not ask for that, it was the first that can be. Of a
// client that lives on it has to be named, and late.
func (t *timeline) behind(e *history.Event, p place) (pendingSet, bool) {
	for i, s := range t.pending[p] {
		_, killed := t.record.kills.first(s.client, 0)
		gone := killed || t.record.heldTooLong(s.client, p.node, s.time)
		named := e.Command.Reply == s.token
		known := gone && (named || e.Command.Reply == "nil") || named && t.late(s, p, e.Time)
		if known && s.time < e.Time && t.possible(s, p) {
			t.pending[p] = slices.Delete(t.pending[p], i, i+1)
			return s, true
		}
	}
	return pendingSet{}, false
}

// late reports whether a SET reached a node that was paused, and has not been answered
// though the node has run again for as long as an answer may take: its connection has ended.
// (An extension is its client's own to take back, whatever became of it.)
func (t *timeline) late(s pendingSet, p place, now int64) bool {
	awake := t.record.awake(p.node, s.time)
	return !s.extends && awake > s.time && now > awake+t.record.prompt()
}

// possible reports whether there was a key for an extension to prolong.
func (t *timeline) possible(s pendingSet, p place) bool {
	last := t.last[p]
	return !s.extends || last != nil && last.token == s.token && last.from <= s.time && last.until > s.time
}

// refused takes from a SET that was refused, though nobody is known to have the key, who
// has it: a client that was killed before its SET or its extension was answered, or whose
// command a link had held back for longer than anybody waits. It can neither take its key
// back nor be told of it, so that others have to wait for the key to expire. So it is with a
// SET that a paused node carries out when nobody waits for its answer any more.
// Who lives on and waits hears of it, or knows that it did not: what it leaves is its own to
// clear away.
func (t *timeline) refused(e *history.Event, p place) {
	if t.alive(p, e.Time) != nil || strings.HasPrefix(e.Command.Reply, "error") {
		return
	}
	if s, found := t.behind(e, p); found {
		when := t.record.awake(p.node, t.record.through(s.client, p.node, s.time))
		from := when
		if s.extends { // what it prolonged was there until now
			from = max(from, t.last[p].until)
		}
		t.ttl(s.event, t.open(p, from, s.token, s.client, s.event), when, s.expiry)
	}
}

// heldTooLong reports whether faults, one or several in turn, kept what a client sent from a
// node for a TTL and longer, where it set out or arrived at a time: what reaches the node then
// is of a call that was given up long ago, in whichever order its client had sent its release.
func (r *record) heldTooLong(client, node string, t int64) bool {
	link := client + "-" + node
	from := t
	for again := true; again; {
		again = false
		for _, f := range r.faults {
			// The last was over just before; those before it, as the next had begun.
			over := f.until <= t && t-f.until <= precision || from < t && f.until >= from
			if over && f.target == link && f.class.DisturbsLink() && f.from < from {
				from, again = f.from, true
			}
		}
	}
	return from < t && r.through(client, node, t)-from >= r.header.TTL
}

// through is when what a client sent gets to a node: a command is told as it sets out on its
// link, and where that was cut it arrived when the link was healed.
func (r *record) through(client, node string, t int64) int64 {
	link := client + "-" + node
	for _, f := range r.faults {
		if f.target == link && f.class == history.LinkCut && !f.cause.ToClient() && f.from <= t && t < f.until {
			t = f.until
		}
	}
	return t
}

// awake is when a node carries out what reaches it at a time: at once, or, if it was
// paused, when it runs on.
func (r *record) awake(node string, t int64) int64 {
	for _, f := range r.faults {
		if f.target == node && f.class.Pauses() && f.from <= t && t < f.until {
			return f.until
		}
	}
	return t
}
