package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// What lay between the clients and the nodes: what the faults say, and what the nodes
// answered to whom, and when.

// promptReplyDivisor is the part of a bound (see prompt) within which a node answers that is
// healthy: a round trip that a fault makes longer by less makes no node unhealthy. It was chosen:
// from 5 to 50, no verdict of 185 published and 1,500 invented histories differs.
const promptReplyDivisor = 10

// prompt is how long the answer of a healthy node may take. A bound for a grant that leaves
// room for long pauses between attempts does not make a slow node prompt, so that for a
// release counts where it is shorter; histories of before have none.
func (r *record) prompt() int64 {
	bound := r.header.Bounds.Grant
	if release := r.header.Bounds.Release; release > 0 {
		bound = min(bound, release)
	}
	return bound / promptReplyDivisor
}

// brief reports whether a fault that held messages up was over as a stretch began: what it
// held was delivered, and it stood between nobody any more. Its end is told after that.
func (r *record) brief(f fault, of span) bool {
	holds := f.class == history.LinkCut || f.class == history.MessageHeld
	return holds && min(f.until, of.until)-max(f.since, of.from) <= r.prompt()
}

// unhealthy gives the stretches for which a client had no good way to a node: the node
// was not healthy, or the link between them was hindered.
func (r *record) unhealthy(client, node string) []span {
	link := history.Link{From: client, To: node}
	spans := r.slow(link)
	for _, f := range r.faults {
		switch {
		case f.target == node && f.class.StopsNode():
			spans = append(spans, r.sick(f, client)...)
		case f.link == link && f.class.DisturbsLink() && f.class != history.LinkSlow:
			spans = append(spans, r.hindered(f, client))
		}
	}
	return union(spans)
}

// sick gives the stretches for which a node's fault made it unhealthy for a client. A
// node whose memory or disk is disturbed is healthy whenever it takes the client's keys
// promptly all the same; and after the fault it is not healthy until it shows a sign of
// life, for a server can hang in an fsync, or have ended by itself.
func (r *record) sick(f fault, client string) []span {
	whole := f.possible()
	if f.class != history.NodeDisk && f.class != history.NodeMemory {
		return []span{whole}
	}
	if t, alive := r.answers.sign(f.target, f.until); alive {
		whole.until = max(whole.until, t)
	} else {
		whole.until = never
	}
	var healthy []span
	for _, a := range r.answers.of(client, f.target) {
		if a.length() <= r.prompt() {
			healthy = append(healthy, span{a.from, a.until + r.prompt()})
		}
	}
	return whole.without(union(healthy))
}

// hindered gives the stretch for which a fault hindered a link. One that is on single
// messages is spent when the node has taken a key over the link beyond as many as it is on;
// one that loses answers to SETs, as soon as the node has given the last of these: a client
// that asks anew is answered.
func (r *record) hindered(f fault, client string) span {
	whole := f.possible()
	if f.class != history.MessageHeld && f.class != history.MessageLost {
		return whole
	}
	if f.class == history.MessageLost && f.timed() {
		return span{whole.from, min(whole.until, r.lastLost(f))}
	}
	left := max(f.cause.Count, 1)
	for _, a := range r.answers.of(client, f.link.To) {
		if a.from < f.from || a.until >= f.until {
			continue
		}
		left--
		if left == 0 && f.class == history.MessageLost && f.cause.OnSetReplies() {
			whole.until = max(whole.from, a.until+r.prompt())
			break
		}
		if left < 0 {
			whole.until = max(whole.from, a.from)
			break
		}
	}
	return whole
}

// lastLost gives until when a fault that loses messages hindered its link, where it is known
// which it lost: for as long after the last as an answer may take, and where more would have
// been lost, for as long as whoever asks anew may take to be granted the lock. Whoever waits
// for longer waits for what will not come.
func (r *record) lastLost(f fault) int64 {
	if len(f.sent) == 0 {
		return f.since
	}
	last := f.sent[len(f.sent)-1]
	if len(f.sent) < max(f.cause.Count, 1) {
		return last + r.header.Bounds.Grant
	}
	return last + r.prompt()
}

// timed reports whether it is known when everything set out that a fault was done to.
func (f fault) timed() bool { return f.impact != nil && *f.impact == len(f.sent) }

// dropsSetReply reports whether a fault loses the answers to SETs, or holds them back: whoever
// does not know whether it has a key can release it all the same.
func (f fault) dropsSetReply() bool {
	return (f.class == history.MessageLost || f.class == history.MessageHeld) && f.cause.OnSetReplies()
}

// unreachable gives the stretches for which a client could not reach a healthy
// majority, because too many nodes of its list were unhealthy, or because it was itself
// stopped.
func (r *record) unreachable(client string, k *keyed, certainly bool) []span {
	unhealthy := func(node string) []span { return r.unhealthy(client, node) }
	return union(r.blocked(client, k, certainly, unhealthy), r.stopped(client))
}

// starved gives the stretches in which the timers were late by which a client tries again.
func (r *record) starved(client string) []span {
	return r.faults.stretches(fault.possible,
		func(f fault) bool { return f.target == client && f.class == history.ClientStarved })
}

// stopped gives the stretches for which a client could do nothing.
func (r *record) stopped(client string) []span {
	return r.faults.stretches(fault.possible, func(f fault) bool { return f.target == client && f.class.StopsClient() })
}

// heldTooLong reports whether faults, one or several in turn, kept what a client sent from a
// node for a TTL and longer, where it set out or arrived at a time: what reaches the node then
// is of a call that was given up long ago, in whichever order its client had sent its release.
func (r *record) heldTooLong(client, node string, t int64) bool {
	link := history.Link{From: client, To: node}
	from := t
	for again := true; again; {
		again = false
		for _, f := range r.faults {
			// The last was over just before; those before it, as the next had begun.
			over := f.until <= t && t-f.until <= precision || from < t && f.until >= from
			if over && f.link == link && f.class.DisturbsLink() && f.from < from {
				from, again = f.from, true
			}
		}
	}
	return from < t && r.through(client, node, t)-from >= r.header.TTL
}

// through is when what a client sent gets to a node: a command is told as it sets out on its
// link, and where that was cut it arrived when the link was healed.
func (r *record) through(client, node string, t int64) int64 {
	link := history.Link{From: client, To: node}
	for _, f := range r.faults {
		if f.link == link && f.class == history.LinkCut && !f.cause.ToClient() && f.from <= t && t < f.until {
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

// far reports whether a fault is a distance that leaves a node healthy: it belongs to
// the scenario's setting, or is small against the bounds, also with what else slows the
// link at the time.
func (r *record) far(f fault) bool {
	if f.class != history.LinkSlow {
		return false
	}
	if f.cause.Background {
		return true
	}
	return !slices.ContainsFunc(r.slow(f.link), f.possible().overlaps)
}

// slow gives the stretches for which faults delayed a link by so much that a node behind
// it is not healthy: what is sent there and back is late by the sum of its delays, twice.
// What belongs to the scenario's setting does not count.
func (r *record) slow(link history.Link) []span {
	var delays []weighted
	for _, f := range r.faults {
		if f.link != link || f.class != history.LinkSlow || f.cause.Background {
			continue
		}
		by := f.cause.Delay
		if by <= 0 { // it is not known by how much
			by = r.prompt()
		}
		if by > 0 {
			delays = append(delays, weighted{f.possible(), by})
		}
	}
	return weighing(max(1, (r.prompt()+1)/2), delays)
}
