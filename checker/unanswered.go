package checker

import (
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/harness/history"
)

// keyCommand is a command that changes a key, as it reached its node or was answered.
type keyCommand struct {
	*history.Command
	client string
	time   int64
	event  int
}

// unanswered are those that have no answer yet, by place: their clients may be gone, but the node
// may have carried them out all the same. Of deletes it is the last, as long as none is answered.
type unanswered map[place][]keyCommand

func (u unanswered) add(c keyCommand, p place) {
	if c.Effect == history.EffectDelete {
		u.removeDeletes(p)
	}
	u[p] = append(u[p], c)
}

// remove forgets the one that a reply answers.
func (u unanswered) remove(answered keyCommand, p place) {
	if answered.Effect == history.EffectDelete {
		u.removeDeletes(p)
		return
	}
	i := slices.IndexFunc(u[p],
		func(c keyCommand) bool { return c.client == answered.client && c.Serial == answered.Serial })
	if i >= 0 {
		u[p] = slices.Delete(u[p], i, i+1)
	}
}

func (u unanswered) removeDeletes(p place) {
	u[p] = slices.DeleteFunc(u[p], func(c keyCommand) bool { return c.Effect == history.EffectDelete })
}

// deleted gives the delete that may have ended a holding: it came while the key was there, and
// names no other token (a compare-and-delete does).
func (u unanswered) deleted(h *keyOwnership) (keyCommand, bool) {
	for _, c := range u[place{h.node, h.key}] {
		if c.Effect == history.EffectDelete && c.time >= h.from && (c.Token == "" || c.Token == h.token) {
			return c, true
		}
	}
	return keyCommand{}, false
}

// refused takes from a SET that was refused, though nobody is known to have the key, who
// has it: a client that was killed before its SET or its extension was answered, or whose
// command a link had held back for longer than anybody waits. It can neither take its key
// back nor be told of it, so that others have to wait for the key to expire. So it is with a
// SET that a paused node carries out when nobody waits for its answer any more.
// Who lives on and waits hears of it, or knows that it did not: what it leaves is its own to
// clear away.
// If somebody is known to have the key, the refusal shows that it is still there, whatever became
// of a delete without an answer.
func (t *timeline) refused(refusal keyCommand, p place) {
	if refusal.Failed() {
		return
	}
	if h := t.alive(p, refusal.time); h != nil {
		h.seen = refusal.time
		return
	}
	i := slices.IndexFunc(t.unanswered[p], func(c keyCommand) bool { return t.shownBy(refusal, c, p) })
	if i < 0 {
		return
	}
	c := t.unanswered[p][i]
	t.unanswered[p] = slices.Delete(t.unanswered[p], i, i+1)
	when := t.record.awake(p.node, t.record.through(c.client, p.node, c.time))
	from := when
	if c.Effect == history.EffectExtend { // what it prolonged was there until now
		from = max(from, t.last[p].until)
	}
	t.ttl(c.event, t.open(p, from, c.Token, c.client, c.event), when, c.Expiry)
}

// shownBy reports whether a refused SET shows a command to have been carried out: the refusal
// names its token, or, where a lock does not ask for that, it was the first that can be. Of a
// client that lives on it has to be named, and late.
func (t *timeline) shownBy(refusal, c keyCommand, p place) bool {
	named := refusal.Reply == c.Token
	if c.Effect == history.EffectDelete || c.time >= refusal.time || !named && !t.namesNobody(refusal, p) {
		return false
	}
	if c.Effect == history.EffectExtend { // is there a key that it can have prolonged?
		if last := t.last[p]; last == nil || last.token != c.Token || last.from > c.time || last.until <= c.time {
			return false
		}
	}
	_, killed := t.record.kills.first(c.client, 0)
	return killed || t.record.heldTooLong(c.client, p.node, c.time) || named && t.late(c, p, refusal.time)
}

// namesNobody reports whether a refusal leaves open whose the key is: nil, or a script's number that is nobody's token.
func (t *timeline) namesNobody(refusal keyCommand, p place) bool {
	if refusal.Reply == "nil" {
		return true
	}
	_, err := strconv.ParseInt(refusal.Reply, 10, 64)
	return err == nil && strings.HasPrefix(refusal.Name, "EVAL") && t.owner(refusal.Reply) == "" &&
		!slices.ContainsFunc(t.unanswered[p], func(c keyCommand) bool { return c.Token == refusal.Reply })
}

// late reports whether a SET reached a node that was paused, and has not been answered
// though the node has run again for as long as an answer may take: its connection has ended.
// (An extension is its client's own to take back, whatever became of it.)
func (t *timeline) late(c keyCommand, p place, now int64) bool {
	awake := t.record.awake(p.node, c.time)
	return c.Effect == history.EffectSet && awake > c.time && now > awake+t.record.prompt()
}
