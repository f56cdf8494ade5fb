package checker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/harness/history"
)

// keyCommand is a command that changes a key, or its reply.
type keyCommand struct {
	*history.Command
	moment
}

// unanswered are the commands without a reply, by place: their clients may be gone, but the node may have executed
// them. Of deletes it is the last, and none once a delete has been answered.
type unanswered map[place][]keyCommand

func (u unanswered) add(c keyCommand, p place) {
	if c.Effect == history.EffectDelete {
		u.removeDeletes(p)
	}
	u[p] = append(u[p], c)
}

func (u unanswered) remove(answered keyCommand, p place) {
	if answered.Effect == history.EffectDelete {
		u.removeDeletes(p)
		return
	}
	i := slices.IndexFunc(u[p],
		func(c keyCommand) bool { return c.process == answered.process && c.Serial == answered.Serial })
	if i >= 0 {
		u[p] = slices.Delete(u[p], i, i+1)
	}
}

func (u unanswered) removeDeletes(p place) {
	u[p] = slices.DeleteFunc(u[p], func(c keyCommand) bool { return c.Effect == history.EffectDelete })
}

// deleted returns the delete that may have ended an ownership: it came while the key was there, and names no other
// token (a compare-and-delete does).
func (u unanswered) deleted(h *keyOwnership) (keyCommand, bool) {
	for _, c := range u[h.place] {
		if c.Effect == history.EffectDelete && c.time >= h.from && (c.Token == "" || c.Token == h.token) {
			return c, true
		}
	}
	return keyCommand{}, false
}

// found infers from a refused SET or from a GET which client has the key, if no owner is known: one that was killed
// before the reply to its SET or extension, or whose command a link held up for a TTL, or whose SET a paused node
// executed too late. It can neither delete its key nor learn of it, so others must wait for the key to expire. A client
// that lives on and waits learns of its key, or that no reply came, and must delete it itself. If an owner is known,
// the refusal shows that its key is still there, despite a delete without a reply.
func (t *timeline) found(refusal keyCommand, p place) {
	if refusal.Failed() {
		return
	}
	if h := t.current(p, refusal.time); h != nil {
		h.seen = refusal.time
		return
	}
	i := slices.IndexFunc(t.unanswered[p], func(c keyCommand) bool { return t.shownBy(refusal, c, p) })
	if i < 0 {
		t.foreign[p] = refusal.time
		return
	}
	c := t.unanswered[p][i]
	t.unanswered[p] = slices.Delete(t.unanswered[p], i, i+1)
	when := t.record.executionTime(p.node, t.record.arrival(c.process, p.node, c.time))
	from := when
	if c.Effect == history.EffectExtend { // the extended key was there until now
		from = max(from, t.last[p].until)
	}
	last := t.last[p]
	h := t.open(p, from, c.Token, c.process, c.event)
	h.overwrites = last != nil && last.until > from && c.overwrites(last)
	t.setExpiry(c.event, h, when, c.Expiry)
}

// shownBy reports whether a refused SET shows that a command was executed: the refusal names its token, or no token and
// the command is possible. If the client was not killed and no link held the command up for a TTL, the refusal must
// name the token, and the command be late.
func (t *timeline) shownBy(refusal, c keyCommand, p place) bool {
	named := refusal.Reply == c.Token
	if c.Effect == history.EffectDelete || c.time >= refusal.time || !named && !t.namesNoClient(refusal, p) {
		return false
	}
	if c.Effect == history.EffectExtend { // there must be a key that it can have extended
		if last := t.last[p]; last == nil || last.token != c.Token || last.from > c.time || last.until <= c.time {
			return false
		}
	}
	return t.ownerCannotKnow(c, p) || named && t.late(c, p, refusal.time)
}

// ownerCannotKnow reports whether a command's client was killed, or a link held the command up for a TTL.
func (t *timeline) ownerCannotKnow(c keyCommand, p place) bool {
	_, killed := t.record.faults.killed(c.process, 0)
	return killed || t.record.heldTooLong(c.process, p.node, c.time)
}

// addUnseen adds the keys that SETs without a reply may have left although no reply shows a key: other clients may only
// ask whether it exists. One lasts until it expires, or another key is there.
func (t *timeline) addUnseen() {
	for p, commands := range t.unanswered {
		k := t.record.key(p.key)
		for _, c := range commands {
			when := t.record.executionTime(p.node, t.record.arrival(c.process, p.node, c.time))
			if c.Effect != history.EffectSet || when <= t.foreign[p] || !t.ownerCannotKnow(c, p) {
				continue
			}
			until := t.record.clocks.wall[p.node].timeAfter(cmp.Or(c.Expiry, t.record.ownTTL(c.process)), when, c.event)
			for _, h := range k.ownerships {
				if h.node == p.node && h.until > when {
					until = min(until, h.from)
				}
			}
			if until > when {
				k.unseen = append(k.unseen, unseenKey{span{when, until}, p.node})
			}
		}
	}
}

// namesNoClient reports whether a refusal leaves the owner open: it is nil, or a script's number that is no known
// token.
func (t *timeline) namesNoClient(refusal keyCommand, p place) bool {
	if refusal.Reply == "nil" {
		return true
	}
	_, err := strconv.ParseInt(refusal.Reply, 10, 64)
	return err == nil && strings.HasPrefix(refusal.Name, "EVAL") && t.owner(refusal.Reply) == "" &&
		!slices.ContainsFunc(t.unanswered[p], func(c keyCommand) bool { return c.Token == refusal.Reply })
}

// late reports whether a SET reached a paused node and had no reply within the time of a prompt one after the pause:
// its connection has ended. (An extension does not count: its client must delete the key in any case.)
func (t *timeline) late(c keyCommand, p place, now int64) bool {
	awake := t.record.executionTime(p.node, c.time)
	return c.Effect == history.EffectSet && awake > c.time && now > awake+t.record.prompt()
}
