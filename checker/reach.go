package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// This file decides from the faults and the nodes' replies when a client could reach a node.

// promptReplyDivisor is the part of a bound (see prompt) within which a healthy node replies: a fault that delays a
// round trip by less makes no node unhealthy. It was chosen: from 5 to 50, no verdict of 185 published and 1,500
// invented histories differs.
const promptReplyDivisor = 10

// prompt is how long a healthy node's reply may take. Bounds.Grant may have room for long pauses between attempts,
// which do not make a slow node prompt, so Bounds.Release counts if it is shorter. Older histories have no
// Bounds.Release.
func (r *record) prompt() int64 {
	bound := r.header.Bounds.Grant
	if release := r.header.Bounds.Release; release > 0 {
		bound = min(bound, release)
	}
	return bound / promptReplyDivisor
}

// overlapsBriefly reports whether a cut or a hold overlaps an interval for no longer than a prompt reply: it ended as
// the interval began, and blocks no message any more. The end of a fault is recorded after it delivers its messages.
func (r *record) overlapsBriefly(f fault, of span) bool {
	holds := f.Class == history.LinkCut || f.Class == history.MessageHeld
	return holds && min(f.until, of.until)-max(f.since, of.from) <= r.prompt()
}

// unhealthy returns when a node was unhealthy for a client, or a fault disturbed the link between them.
func (r *record) unhealthy(client, node string) []span {
	link := history.Link{From: client, To: node}
	spans := r.slowSpans(link)
	for _, f := range r.faults {
		switch {
		case f.target == node && f.Class.StopsNode():
			spans = append(spans, r.nodeFaultSpans(f, client)...)
		case f.link == link && f.Class.DisturbsLink() && f.Class != history.LinkSlow:
			spans = append(spans, r.linkFaultSpan(f, client))
		}
	}
	return union(spans)
}

// nodeFaultSpans returns when a node's fault made it unhealthy for a client. A node with a memory or disk fault is
// healthy while it answers the client's SETs promptly. After such a fault it stays unhealthy until a sign of life: a
// server can hang in an fsync, or end by itself.
func (r *record) nodeFaultSpans(f fault, client string) []span {
	whole := f.possible()
	if f.Class != history.NodeDisk && f.Class != history.NodeMemory {
		return []span{whole}
	}
	if t, alive := r.replies.signOfLife(f.target, f.until); alive {
		whole.until = max(whole.until, t)
	} else {
		whole.until = never
	}
	var healthy []span
	for _, a := range r.replies.setSpans(client, f.target) {
		if a.length() <= r.prompt() {
			healthy = append(healthy, span{a.from, a.until + r.prompt()})
		}
	}
	return whole.without(union(healthy))
}

// linkFaultSpan returns when a fault disturbed a link. A fault on Count messages ends at the arrival of the first SET
// beyond Count that the node answered during it. A fault that loses the replies to SETs ends a prompt reply after the
// node gave the last of them: a retry is answered.
func (r *record) linkFaultSpan(f fault, client string) span {
	whole := f.possible()
	if f.Class != history.MessageHeld && f.Class != history.MessageLost {
		return whole
	}
	if f.Class == history.MessageLost && f.sendTimesKnown() {
		return span{whole.from, min(whole.until, r.messageLossEnd(f))}
	}
	left := max(f.Count, 1)
	for _, a := range r.replies.setSpans(client, f.link.To) {
		if a.from < f.from || a.until >= f.until {
			continue
		}
		left--
		if left == 0 && f.Class == history.MessageLost && f.OnSetReplies() {
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

// messageLossEnd returns when a fault with known lost messages ends for its link: a prompt reply after the last loss.
// If it could have lost more, it ends Bounds.Grant after the last loss, the time that a retry may take. A client that
// waits longer waits for a reply that never comes.
func (r *record) messageLossEnd(f fault) int64 {
	if len(f.sent) == 0 {
		return f.since
	}
	last := f.sent[len(f.sent)-1]
	if len(f.sent) < max(f.Count, 1) {
		return last + r.header.Bounds.Grant
	}
	return last + r.prompt()
}

// sendTimesKnown reports whether the send time of every affected message is known.
func (f fault) sendTimesKnown() bool { return f.impact != nil && *f.impact == len(f.sent) }

// dropsSetReply reports whether a fault loses or holds the replies to SETs. A client that does not know whether it has
// a key can still release it.
func (f fault) dropsSetReply() bool {
	return (f.Class == history.MessageLost || f.Class == history.MessageHeld) && f.OnSetReplies()
}

// unreachable returns when a client could not reach a healthy majority: too many nodes of its list were unhealthy, or
// the client was stopped.
func (r *record) unreachable(client string, k *keyed, certainly bool) []span {
	unhealthy := func(node string) []span { return r.unhealthy(client, node) }
	return union(r.blocked(client, k, certainly, unhealthy), r.stopped(client))
}

// starved returns when a client's timers, and so its retries, were late.
func (r *record) starved(client string) []span {
	return r.faults.spans(fault.possible,
		func(f fault) bool { return f.target == client && f.Class == history.ClientStarved })
}

// stopped returns when a client was stopped.
func (r *record) stopped(client string) []span {
	return r.faults.spans(fault.possible, func(f fault) bool { return f.target == client && f.Class.StopsClient() })
}

// heldTooLong reports whether a link's faults, one or several in turn, held up a client's command for a TTL or longer,
// if it was sent or arrived at a time. The client gave up that call long ago, in whatever order it sent its release.
func (r *record) heldTooLong(client, node string, t int64) bool {
	link := history.Link{From: client, To: node}
	from := t
	for extended := true; extended; {
		extended = false
		for _, f := range r.faults {
			// The last fault ended just before t; each earlier one ended when the next had begun.
			over := f.until <= t && t-f.until <= precision || from < t && f.until >= from
			if over && f.link == link && f.Class.DisturbsLink() && f.from < from {
				from, extended = f.from, true
			}
		}
	}
	return from < t && r.arrival(client, node, t)-from >= r.header.TTL
}

// arrival is when a command that was recorded at a time reaches its node. A command is recorded when it enters its
// link; if the link is cut, it arrives when that heals.
func (r *record) arrival(client, node string, t int64) int64 {
	link := history.Link{From: client, To: node}
	for _, f := range r.faults {
		if f.link == link && f.Class == history.LinkCut && !f.ToClient() && f.from <= t && t < f.until {
			t = f.until
		}
	}
	return t
}

// executionTime is when a node executes a command that arrives at a time: at once, or at the end of its pause.
func (r *record) executionTime(node string, t int64) int64 {
	for _, f := range r.faults {
		if f.target == node && f.Class.Pauses() && f.from <= t && t < f.until {
			return f.until
		}
	}
	return t
}

// harmlessDelay reports whether a fault is a delay that leaves its node healthy: it is background, or small against the
// bounds together with the link's other delays.
func (r *record) harmlessDelay(f fault) bool {
	if f.Class != history.LinkSlow {
		return false
	}
	if f.Background {
		return true
	}
	return !slices.ContainsFunc(r.slowSpans(f.link), f.possible().overlaps)
}

// slowSpans returns when faults delayed a link so much that its node is unhealthy: a round trip is late by the sum of
// the delays, twice. Background delays do not count.
func (r *record) slowSpans(link history.Link) []span {
	var delays []weighted
	for _, f := range r.faults {
		if f.link != link || f.Class != history.LinkSlow || f.Background {
			continue
		}
		by := f.Delay
		if by <= 0 { // unknown delay
			by = r.prompt()
		}
		if by > 0 {
			delays = append(delays, weighted{f.possible(), by})
		}
	}
	return spansWeighing(max(1, (r.prompt()+1)/2), delays)
}
