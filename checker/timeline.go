package checker

import (
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// timeline follows all keys on all nodes through a history.
type timeline struct {
	record *record
	nodes  map[string]bool // the servers of this run
	// By node: its last crash, until a look shows what it has kept; its last memory fault; its last move of a slot.
	down, full, moved map[string]moment
	unanswered        unanswered
	looks             []look                  // of the current instant
	last              map[place]*keyOwnership // the latest at each place, ended or not
	foreign           map[place]int64         // when a reply last showed a key of no known SET
}

// moment is an event's index and time, with its client or node.
type moment struct {
	event   int
	time    int64
	process string
}

// readTimeline follows the events. In virtual time a fault and the looks before and after it may share an instant.
// Looks are applied last, so that the fault explains a key that they miss.
func readTimeline(r *record, source Source) error {
	t := &timeline{
		record: r, nodes: map[string]bool{}, last: map[place]*keyOwnership{},
		down: map[string]moment{}, full: map[string]moment{}, moved: map[string]moment{},
		unanswered: unanswered{}, foreign: map[place]int64{},
	}
	for _, node := range r.header.Servers() {
		t.nodes[node] = true
	}
	r.replies = newNodeReplies(r.faults)
	i := 0
	err := source(func(e *history.Event) error {
		if len(t.looks) > 0 && e.Time > t.looks[0].time {
			t.applyLooks()
		}
		t.follow(i, e)
		r.replies.follow(e)
		i++
		return nil
	})
	if err != nil {
		return err
	}
	t.applyLooks()
	for p := range t.last {
		if h := t.current(p, r.end); h != nil {
			t.close(h, r.end, OwnershipOpen, -1)
		}
	}
	t.addUnseen()
	return nil
}

func (t *timeline) follow(i int, e *history.Event) {
	switch {
	case e.Command != nil && (e.Type == history.TypeCommand || e.Type == history.TypeReply):
		link, _ := e.Link()
		client, node := link.From, link.To
		if e.Command.Effect != history.EffectRead && len(t.record.names.changed) > 0 && t.nodes[node] {
			when := t.record.executionTime(node, t.record.arrival(client, node, e.Time))
			t.record.changes = append(t.record.changes, change{moment{i, when, client}, node})
		}
		if !t.nodes[node] || e.Command.Effect == "" {
			return
		}
		p := place{node, t.record.names.ofCaller(e.Command.Key)}
		c := keyCommand{e.Command, moment{i, e.Time, client}}
		switch {
		case c.Effect == history.EffectRead:
			if e.Type == history.TypeReply {
				t.read(c, p)
			}
		case e.Type == history.TypeReply:
			t.unanswered.remove(c, p)
			t.reply(c, p)
		default:
			t.unanswered.add(c, p)
			if k := t.record.key(p.key); t.record.header.Fencing && c.Effect == history.EffectSet {
				k.taking = append(k.taking, takingCommand{c.moment, c.Token})
			}
		}
	case e.Type == history.TypeFault:
		t.fault(i, e)
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		t.looks = append(t.looks, look{moment{i, e.Time, e.Process}, e.Node})
	}
}

// read follows the reply to a command that only reads: it may show a key.
func (t *timeline) read(c keyCommand, p place) {
	if !c.Done || c.Name != "GET" || strings.HasSuffix(c.Reply, "...") {
		return
	}
	if h := t.current(p, c.time); h != nil {
		h.show(c.Reply, c.time)
		return
	}
	t.found(c, p)
}

// current returns the current ownership at a place, after it has ended an expired one.
func (t *timeline) current(p place, now int64) *keyOwnership {
	h := t.last[p]
	switch {
	case h == nil || h.ended != "":
		return nil
	case h.expires <= now:
		t.close(h, h.expires, OwnershipExpired, -1)
		return nil
	}
	return h
}

func (t *timeline) close(h *keyOwnership, now int64, why string, ender int) {
	h.until, h.ended, h.ender, h.mayBeGone = max(now, h.from, h.seen), why, int32(ender), never
	if c, sent := t.unanswered.deleted(h); sent && c.time >= h.seen {
		h.mayBeGone = c.time
	}
}

func (t *timeline) open(p place, now int64, token string, owner string, event int) *keyOwnership {
	h := &keyOwnership{
		span: span{from: now}, place: p, expires: never, owner: owner, token: token, set: int32(event), ender: -1,
	}
	t.record.ownerships = append(t.record.ownerships, h)
	t.last[p] = h
	k := t.record.key(p.key)
	k.ownerships = append(k.ownerships, h)
	return h
}

// setExpiry sets when an ownership expires by its node's clock: d after event i, or never.
func (t *timeline) setExpiry(i int, h *keyOwnership, now, d int64) {
	h.expires = never
	if d > 0 {
		h.expires = t.record.clocks.wall[h.node].timeAfter(d, now, i)
	}
}

// reply follows the reply to a command that changes a key.
func (t *timeline) reply(c keyCommand, p place) {
	if !c.Done {
		if c.Effect == history.EffectSet {
			t.found(c, p)
		}
		return
	}
	h := t.current(p, c.time)
	switch {
	case c.Effect == history.EffectSet:
		t.set(c, p, h)
	case h == nil:
	case c.Effect == history.EffectExtend:
		t.prolong(c, h)
	case c.Effect == history.EffectDelete:
		t.remove(c, h, c.ofOwner(h))
	}
}

// set follows a SET that took the key. If the key has an owner in the timeline, it is the client's own, or the SET
// replaced it, or it had ended without a reply.
func (t *timeline) set(c keyCommand, p place, before *keyOwnership) {
	if before != nil {
		if before.isOwn(c) { // the key was there already
			if c.Name == "SET" && c.Reply == "OK" || c.Unconditional || c.Extends {
				t.prolong(c, before)
			}
			return
		}
		if c.Unconditional && before.show(c.Reply, c.time) {
			t.remove(c, before, c.process == before.owner)
		} else {
			t.endMissing(c.event, c.time, before)
		}
	}
	h := t.open(p, c.time, c.Token, c.process, c.event)
	h.unnamed = c.unnamed()
	h.overwrites = before != nil && c.overwrites(before) && (before.ended == OwnershipVanished || before.by == c.process)
	t.applyExpiry(c, h)
}

// unnamed reports whether a script sets a value that is not one of its arguments.
func (c keyCommand) unnamed() bool { return c.Token == "" && strings.HasPrefix(c.Name, "EVAL") }

// overwrites reports whether a command sets the key although another client has it.
func (c keyCommand) overwrites(h *keyOwnership) bool { return c.Unconditional && h.owner != c.process }

// isOwn reports whether a command that sets the key found its own token; if a token is unknown, whether the owner is
// its client.
func (h *keyOwnership) isOwn(c keyCommand) bool {
	if c.unnamed() || h.unnamed {
		return h.owner == c.process
	}
	return h.token == c.Token
}

// change is a command of a client that may have changed a key, or the reply to one.
type change struct {
	moment
	node string
}

// prolong follows a command that sets a new expiry.
func (t *timeline) prolong(c keyCommand, h *keyOwnership) {
	t.applyExpiry(c, h)
	t.record.prolonged[h] = append(t.record.prolonged[h], c.moment)
}

// applyExpiry sets a key's expiry as a command does.
func (t *timeline) applyExpiry(c keyCommand, h *keyOwnership) {
	ttl := c.Expiry
	if c.ExpiresAt != 0 {
		ttl = max(c.ExpiresAt-t.record.clocks.wall[h.node].at(c.time), 1)
	}
	t.setExpiry(c.event, h, c.time, ttl)
}

// remove ends an ownership by a command, of its owner or of another client.
func (t *timeline) remove(c keyCommand, h *keyOwnership, own bool) {
	h.by = c.process
	why := OwnershipRemoved
	if own {
		why = OwnershipDeleted
	}
	t.close(h, c.time, why, c.event)
}

// ofOwner reports whether a delete is by the owner of the key, and names its token or none.
func (c keyCommand) ofOwner(h *keyOwnership) bool {
	return c.process == h.owner && (c.Token == "" || c.Token == h.token)
}

// endMissing ends an ownership whose key turned out to be missing, with the first cause that fits.
func (t *timeline) endMissing(i int, now int64, h *keyOwnership) {
	down, fell := t.down[h.node]
	full, filled := t.full[h.node]
	moving, slot := t.moved[h.node]
	deletion, sent := t.unanswered.deleted(h)
	switch {
	case fell && down.time >= h.from:
		t.close(h, down.time, OwnershipForgotten, down.event)
	case sent:
		t.remove(deletion, h, deletion.ofOwner(h))
	case h.expires-now <= precision:
		t.close(h, now, OwnershipExpired, -1)
	case slot && moving.time >= h.from:
		t.close(h, moving.time, OwnershipMoved, moving.event)
	case filled && full.time >= h.from:
		t.close(h, full.time, OwnershipEvicted, full.event)
	case t.masterFell(h):
		t.close(h, now, OwnershipResynced, t.down[t.master(h.node)].event)
	default:
		t.close(h, now, OwnershipVanished, i)
	}
}

func (t *timeline) master(replica string) string {
	return t.record.header.Replicas[replica]
}

// masterFell reports whether a replica's master went down while the key was on the replica.
func (t *timeline) masterFell(h *keyOwnership) bool {
	_, replica := t.record.header.Replicas[h.node]
	down, fell := t.down[t.master(h.node)]
	return replica && fell && down.time >= h.from
}

// fault follows crashes, flushes, full memories and moves of slots.
func (t *timeline) fault(i int, e *history.Event) {
	if e.Fault.Class == history.SlotMoves { // its end moves keys too
		for _, node := range append(slices.Clone(e.Fault.Targets), e.Fault.Asked.To) {
			t.moved[node] = moment{i, e.Time, node}
		}
	}
	if e.Fault.Phase == history.PhaseEnd {
		return
	}
	for _, target := range e.Fault.Targets {
		node := target
		switch e.Fault.Class {
		case history.NodeDown:
			t.down[node] = moment{i, e.Time, node}
		case history.NodeMemory:
			t.full[node] = moment{i, e.Time, node}
		case history.NodeForgets:
			only := e.Fault.Asked.Key // "": every key
			for _, k := range t.record.keys {
				if only != "" && k.name != only {
					continue
				}
				if h := t.current(place{node, k.name}, e.Time); h != nil {
					t.close(h, e.Time, OwnershipFlushed, i)
				}
			}
		}
	}
}

// owner returns the client that used a token last, "" if none did.
func (t *timeline) owner(token string) string {
	var owner string
	for _, h := range t.record.ownerships {
		if h.token == token {
			owner = h.owner
		}
	}
	return owner
}

type look struct {
	moment
	*history.Node
}

// applyLooks applies the looks of the instant that has passed.
func (t *timeline) applyLooks() {
	for _, l := range t.looks {
		t.look(l)
	}
	t.looks = t.looks[:0]
}

// look compares a look into a node with the timeline.
func (t *timeline) look(l look) {
	for _, k := range t.record.keys {
		p := place{l.process, k.name}
		h := t.current(p, l.time)
		seen, present := l.Keys[t.record.names.onServer(k.name)]
		if h != nil && (!present || !h.show(seen.Token, l.time)) {
			t.endMissing(l.event, l.time, h)
			h = nil
		}
		if !present {
			continue
		}
		if last := t.last[p]; h == nil && last != nil && last.token == seen.Token && last.until == l.time {
			continue // it ended at this instant, and the look was before that
		}
		if h == nil {
			h = t.open(p, l.time, seen.Token, t.owner(seen.Token), l.event)
		}
		ttl := seen.TTL
		if ttl == 0 {
			ttl = 1 // less than a millisecond is left
		}
		t.setExpiry(l.event, h, l.time, ttl)
	}
	// The restart has kept the keys that this look shows: a later loss has another cause.
	if down, fell := t.down[l.process]; fell && down.time < l.time {
		delete(t.down, l.process)
	}
}
