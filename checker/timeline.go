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
	now    map[place]*keyOwnership
	// By node, what last happened to it: it went down, until a look shows what it has kept; its
	// memory was filled; a slot was moved from or to it.
	down, full, moved map[string]moment
	unanswered        unanswered
	looks             []look                  // of the present instant
	last              map[place]*keyOwnership // the latest at each place, alive or not
}

// moment is that of an event.
type moment struct {
	event int
	time  int64
}

// readTimeline follows the events. In virtual time a fault and the looks before
// and after it may share an instant; the looks come last in it, so that what
// they find gone has its cause.
func readTimeline(r *record) error {
	t := &timeline{
		record: r, nodes: map[string]bool{}, now: map[place]*keyOwnership{}, last: map[place]*keyOwnership{},
		down: map[string]moment{}, full: map[string]moment{}, moved: map[string]moment{},
		unanswered: unanswered{},
	}
	for _, node := range r.header.Servers() {
		t.nodes[node] = true
	}
	r.answers = newAnswers(r.faults)
	i := 0
	err := r.source(func(e *history.Event) error {
		if len(t.looks) > 0 && e.Time > t.looks[0].time {
			t.lookAround()
		}
		t.follow(i, e)
		r.answers.follow(e)
		i++
		return nil
	})
	if err != nil {
		return err
	}
	t.lookAround()
	for _, h := range t.now {
		if h.expires <= r.end {
			t.close(h, h.expires, TenureExpired, -1)
			continue
		}
		t.close(h, r.end, TenureOpen, -1)
	}
	return nil
}

// follow takes the next event.
func (t *timeline) follow(i int, e *history.Event) {
	switch {
	case e.Command != nil && (e.Type == history.TypeCommand || e.Type == history.TypeReply):
		link, _ := e.Link()
		client, node := link.From, link.To
		if !t.nodes[node] || e.Command.Effect == "" {
			return
		}
		p := place{node, t.record.names.ofCaller(e.Command.Key)}
		c := keyCommand{e.Command, client, e.Time, i}
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
				k.taking = append(k.taking, takingCommand{c.client, c.Token, c.time})
			}
		}
	case e.Type == history.TypeFault:
		t.fault(i, e)
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		t.looks = append(t.looks, look{i, e.Time, e.Process, e.Node})
	}
}

// read follows the answer to a command that only reads: it may show a key.
func (t *timeline) read(c keyCommand, p place) {
	if !c.Done || c.Name != "GET" || strings.HasSuffix(c.Reply, "...") {
		return
	}
	if h := t.alive(p, c.time); h != nil {
		h.show(c.Reply, c.time)
	}
}

// alive gives the key's present owner at a node, having let it expire first.
func (t *timeline) alive(p place, now int64) *keyOwnership {
	h := t.now[p]
	if h != nil && h.expires <= now {
		t.close(h, h.expires, TenureExpired, -1)
		return nil
	}
	return h
}

func (t *timeline) close(h *keyOwnership, now int64, why string, ender int) {
	h.until, h.ended, h.ender, h.mayBeGone = max(now, h.from, h.seen), why, int32(ender), never
	if c, sent := t.unanswered.deleted(h); sent && c.time >= h.seen {
		h.mayBeGone = c.time
	}
	delete(t.now, place{h.node, h.key})
}

func (t *timeline) open(p place, now int64, token string, owner string, event int) *keyOwnership {
	h := &keyOwnership{
		from: now, expires: never, node: p.node, key: p.key, owner: owner, token: token,
		set: int32(event), ender: -1,
	}
	t.record.held = append(t.record.held, h)
	t.now[p], t.last[p] = h, h
	k := t.record.key(p.key)
	k.tenures = append(k.tenures, h)
	return h
}

// ttl sets when a holding runs out on its node's clock, as event i has it.
func (t *timeline) ttl(i int, h *keyOwnership, now, d int64) {
	h.expires = never
	if d > 0 {
		h.expires = t.record.clocks.wall[h.node].when(d, now, i)
	}
}

// reply follows a command that was answered, if it took effect.
func (t *timeline) reply(c keyCommand, p place) {
	if !c.Done {
		if c.Effect == history.EffectSet {
			t.refused(c, p)
		}
		return
	}
	h := t.alive(p, c.time)
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

// set follows a SET that took the key. If we thought it taken, its owner is
// gone in a way that no reply told.
func (t *timeline) set(c keyCommand, p place, before *keyOwnership) {
	if before != nil {
		if before.isOwn(c) { // it was there already
			if c.Name == "SET" && c.Reply == "OK" || c.Unconditional || c.Extends {
				t.prolong(c, before)
			}
			return
		}
		if c.Unconditional && before.show(c.Reply, c.time) {
			t.remove(c, before, c.client == before.owner)
		} else {
			t.gone(c.event, c.time, before)
		}
	}
	h := t.open(p, c.time, c.Token, c.client, c.event)
	h.unnamed = c.unnamed()
	t.expire(c, h)
}

// unnamed reports whether a script sets a value that is none of its arguments.
func (c keyCommand) unnamed() bool { return c.Token == "" && strings.HasPrefix(c.Name, "EVAL") }

// isOwn reports whether a command that takes the key found it with its own token; of one that
// nobody knows, whether it was its client's.
func (h *keyOwnership) isOwn(c keyCommand) bool {
	if c.unnamed() || h.unnamed {
		return h.owner == c.client
	}
	return h.token == c.Token
}

// extension is one of a key, by its owner or by somebody else.
type extension struct {
	moment
	own bool
}

// prolong follows what sets a new expiry.
func (t *timeline) prolong(c keyCommand, h *keyOwnership) {
	t.expire(c, h)
	t.record.prolonged[h] = append(t.record.prolonged[h], extension{moment{c.event, c.time}, c.client == h.owner})
}

// expire sets the time to live that a command gives a key on its node.
func (t *timeline) expire(c keyCommand, h *keyOwnership) {
	ttl := c.Expiry
	if c.ExpiresAt != 0 {
		ttl = max(c.ExpiresAt-t.record.clocks.wall[h.node].at(c.time), 1)
	}
	t.ttl(c.event, h, c.time, ttl)
}

// remove ends a holding by a command, of its owner or of somebody else.
func (t *timeline) remove(c keyCommand, h *keyOwnership, own bool) {
	h.by = c.client
	why := TenureRemoved
	if own {
		why = TenureDeleted
	}
	t.close(h, c.time, why, c.event)
}

// ofOwner reports whether a delete is that of a holding by its owner.
func (c keyCommand) ofOwner(h *keyOwnership) bool {
	return c.client == h.owner && (c.Token == "" || c.Token == h.token)
}

// gone ends a holding that turned out to be gone.
func (t *timeline) gone(i int, now int64, h *keyOwnership) {
	down, fell := t.down[h.node]
	full, filled := t.full[h.node]
	moving, slot := t.moved[h.node]
	deletion, sent := t.unanswered.deleted(h)
	switch {
	case fell && down.time >= h.from:
		t.close(h, down.time, TenureForgotten, down.event)
	case sent:
		t.remove(deletion, h, deletion.ofOwner(h))
	case h.expires-now <= precision:
		t.close(h, now, TenureExpired, -1)
	case slot && moving.time >= h.from:
		t.close(h, moving.time, TenureMoved, moving.event)
	case filled && full.time >= h.from:
		t.close(h, full.time, TenureEvicted, full.event)
	case t.masterFell(h):
		t.close(h, now, TenureResynced, t.down[t.master(h.node)].event)
	default:
		t.close(h, now, TenureVanished, i)
	}
}

// master gives a replica's master.
func (t *timeline) master(replica string) string {
	return t.record.header.Replicas[replica]
}

// masterFell reports whether a replica's master went down while the key was on
// the replica.
func (t *timeline) masterFell(h *keyOwnership) bool {
	_, replica := t.record.header.Replicas[h.node]
	down, fell := t.down[t.master(h.node)]
	return replica && fell && down.time >= h.from
}

// fault follows crashes, flushes and full memories.
func (t *timeline) fault(i int, e *history.Event) {
	if e.Fault.Class == history.SlotMoves { // its end moves keys too
		for _, node := range append(slices.Clone(e.Fault.Targets), e.Fault.Asked.To) {
			t.moved[node] = moment{i, e.Time}
		}
	}
	if e.Fault.Phase == history.PhaseEnd {
		return
	}
	for _, target := range e.Fault.Targets {
		node := target
		switch e.Fault.Class {
		case history.NodeDown:
			t.down[node] = moment{i, e.Time}
		case history.NodeMemory:
			t.full[node] = moment{i, e.Time}
		case history.NodeForgets:
			only := e.Fault.Asked.Key // "": every key
			for _, k := range t.record.keys {
				if only != "" && k.name != only {
					continue
				}
				if h := t.alive(place{node, k.name}, e.Time); h != nil {
					t.close(h, e.Time, TenureFlushed, i)
				}
			}
		}
	}
}

// owner gives the client that used a token last, if any did.
func (t *timeline) owner(token string) string {
	var owner string
	for _, h := range t.record.held {
		if h.token == token {
			owner = h.owner
		}
	}
	return owner
}

// look is a look into a node.
type look struct {
	event int
	time  int64
	node  string
	*history.Node
}

// lookAround takes the looks of the instant that is over.
func (t *timeline) lookAround() {
	for _, l := range t.looks {
		t.look(l)
	}
	t.looks = t.looks[:0]
}

// look compares what a look into a node showed with what we thought.
func (t *timeline) look(l look) {
	for _, k := range t.record.keys {
		p := place{l.node, k.name}
		h := t.alive(p, l.time)
		seen, present := l.Keys[t.record.names.onServer(k.name)]
		if h != nil && (!present || !h.show(seen.Token, l.time)) {
			t.gone(l.event, l.time, h)
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
		t.ttl(l.event, h, l.time, seen.TTL)
	}
	// What a restart left is there: if it goes later, something else takes it.
	if down, fell := t.down[l.node]; fell && down.time < l.time {
		delete(t.down, l.node)
	}
}
