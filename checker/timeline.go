package checker

import (
	"slices"
	"strings"

	"lockproof/harness/history"
)

// What ends a tenure.
const (
	TenureDeleted   = "deleted"            // by its owner
	TenureExpired   = "expired"            // its time to live ran out on the node's clock
	TenureForgotten = "forgotten"          // the node came back without it
	TenureFlushed   = "flushed"            // an operator removed every key
	TenureEvicted   = "evicted"            // the node made room for other data
	TenureRemoved   = "removed by another" // by the command of another client
	TenureResynced  = "resynced"           // the replica took over the state of a master that had lost it
	TenureVanished  = "vanished"           // nothing in the history explains it: an eviction, say
	TenureOpen      = "open"               // the history ended first
)

// Timeline gives every tenure of a key on a node, in the order of From, as the
// replies, faults and looks of the history show them. A history that Check
// refuses has none.
func Timeline(events []history.Event) []Tenure {
	r, err := digest(InMemory(events))
	if err != nil {
		return nil
	}
	var all []Tenure
	for _, h := range r.held {
		all = append(all, h.Tenure)
	}
	return all
}

// holding is a tenure with what the blame needs to know of it.
type holding struct {
	Tenure
	set     int    // the event that showed it first: the reply to the SET, or a look
	ender   int    // the event that ended it; -1 where no event did
	by      string // the client whose command ended it
	expires int64  // when it runs out on the true clock, or never
	// prolonged are the extensions that took effect.
	prolonged []prolongation
}

// prolongation is one extension of a key on its node.
type prolongation struct {
	time   int64
	client string
	event  int
}

// precision is how far a key's end on a node may be from where the reply to its
// SET puts it: the node samples its clock before it answers, in milliseconds.
const precision = 2_000_000

// place is a key on a node.
type place struct{ node, key string }

// timeline follows all keys on all nodes through a history.
type timeline struct {
	run  *run
	now  map[place]*holding
	all  []*holding
	down map[string]int // node to the event that last brought it down, until a look shows what it has kept
	full map[string]int // node to the event that last filled its memory
	// unanswered is the last delete that reached a place and has no reply yet:
	// its client may be gone, but the node carried it out all the same.
	unanswered map[place]deletion
	looks      []look             // of the present instant
	last       map[place]*holding // the latest at each place, alive or not
}

// look is a look into a node.
type look struct {
	event int
	time  int64
	node  string
	*history.Node
}

// readTimeline follows the events. In virtual time a fault and the looks before
// and after it may share an instant; the looks come last in it, so that what
// they find gone has its cause.
func (r *run) readTimeline() error {
	t := &timeline{run: r, now: map[place]*holding{}, down: map[string]int{}, full: map[string]int{}, unanswered: map[place]deletion{}, last: map[place]*holding{}}
	err := r.visit(func(i int, e *history.Event) bool {
		if len(t.looks) > 0 && e.Time > t.looks[0].time {
			t.lookAround()
		}
		t.follow(i, e)
		return true
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
	r.held = t.all
	return nil
}

// follow takes the next event.
func (t *timeline) follow(i int, e *history.Event) {
	switch {
	case e.Type == history.TypeCommand && e.Command != nil:
		t.command(i, e)
	case e.Type == history.TypeReply && e.Command != nil:
		t.reply(i, e)
	case e.Type == history.TypeFault:
		t.fault(i, e)
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		t.looks = append(t.looks, look{i, e.Time, e.Process, e.Node})
	}
}

// lookAround takes the looks of the instant that is over.
func (t *timeline) lookAround() {
	for _, l := range t.looks {
		t.look(l)
	}
	t.looks = t.looks[:0]
}

// command notes a delete that has reached a node.
func (t *timeline) command(i int, e *history.Event) {
	if _, node, isLink := strings.Cut(e.Process, ">"); isLink && e.Command.Effect == history.EffectDelete {
		t.unanswered[place{node, e.Command.Key}] = deletion{e.Process, e.Command.Token, e.Time, i, false}
	}
}

// alive gives the key's present owner at a node, having let it expire first.
func (t *timeline) alive(p place, now int64) *holding {
	h := t.now[p]
	if h != nil && h.expires <= now {
		t.close(h, h.expires, TenureExpired, -1)
		return nil
	}
	return h
}

func (t *timeline) close(h *holding, now int64, why string, ender int) {
	h.Until, h.Ended, h.ender = max(now, h.From), why, ender
	delete(t.now, place{h.Node, h.Key})
}

func (t *timeline) open(p place, now int64, token, owner string, event int) *holding {
	p = place{t.run.names.one(p.node), t.run.names.one(p.key)}
	h := &holding{
		Tenure: Tenure{Node: p.node, Key: p.key, Token: t.run.names.one(token), Owner: t.run.names.one(owner), From: now},
		set:    event, ender: -1, expires: never,
	}
	t.now[p], t.last[p] = h, h
	t.all = append(t.all, h)
	return h
}

// ttl sets when a holding runs out on its node's clock.
func (t *timeline) ttl(h *holding, now, d int64) {
	h.expires = never
	if d > 0 {
		h.expires = t.run.clocks.wall[h.Node].when(d, now)
	}
}

// reply follows a command that was answered, if it took effect.
func (t *timeline) reply(i int, e *history.Event) {
	client, node, isLink := strings.Cut(e.Process, ">")
	if !isLink || !slices.Contains(t.run.header.Servers(), node) {
		return
	}
	p := place{node, e.Command.Key}
	if e.Command.Effect == history.EffectDelete {
		delete(t.unanswered, p)
	}
	if !e.Command.Done {
		return
	}
	h := t.alive(p, e.Time)
	switch e.Command.Effect {
	case history.EffectSet:
		t.set(i, e, client, p, h)
	case history.EffectExtend:
		if h != nil {
			t.ttl(h, e.Time, e.Command.Expiry)
			h.prolonged = append(h.prolonged, prolongation{e.Time, t.run.names.one(client), i})
		}
	case history.EffectDelete:
		if h != nil {
			t.remove(deletion{e.Process, e.Command.Token, e.Time, i, true}, h)
		}
	}
}

// set follows a SET that took the key. If we thought it taken, its owner is
// gone in a way that no reply told.
func (t *timeline) set(i int, e *history.Event, client string, p place, before *holding) {
	if before != nil {
		if before.Token == e.Command.Token {
			return // the owner's own token was there already
		}
		t.gone(i, e.Time, before)
	}
	h := t.open(p, e.Time, e.Command.Token, client, i)
	t.ttl(h, e.Time, e.Command.Expiry)
}

// remove follows a delete, by the owner or by somebody else.
func (t *timeline) remove(d deletion, h *holding) {
	client, _, _ := strings.Cut(d.link, ">")
	h.by = t.run.names.one(client)
	why := TenureDeleted
	if client != h.Owner || d.token != "" && d.token != h.Token {
		why = TenureRemoved
	}
	t.close(h, d.time, why, d.event)
}

// gone ends a holding that turned out to be gone.
func (t *timeline) gone(i int, now int64, h *holding) {
	down, fell := t.down[h.Node]
	full, filled := t.full[h.Node]
	deleted, sent := t.unanswered[place{h.Node, h.Key}]
	switch {
	case fell && t.run.event(down).Time >= h.From:
		t.close(h, t.run.event(down).Time, TenureForgotten, down)
	case sent && couldDelete(deleted, h):
		t.remove(deleted, h)
	case h.expires-now <= precision:
		t.close(h, now, TenureExpired, -1)
	case filled && t.run.event(full).Time >= h.From:
		t.close(h, t.run.event(full).Time, TenureEvicted, full)
	case t.masterFell(h):
		t.close(h, now, TenureResynced, t.down[t.run.header.Replicas[h.Node]])
	default:
		t.close(h, now, TenureVanished, i)
	}
}

// masterFell reports whether a replica's master went down while the key was on
// the replica.
func (t *timeline) masterFell(h *holding) bool {
	master, replica := t.run.header.Replicas[h.Node]
	down, fell := t.down[master]
	return replica && fell && t.run.event(down).Time >= h.From
}

// couldDelete reports whether a delete may have ended a holding: it came while
// the key was there, and names no other token (a compare-and-delete does).
func couldDelete(d deletion, h *holding) bool {
	return d.time >= h.From && (d.token == "" || d.token == h.Token)
}

// fault follows crashes, flushes and full memories.
func (t *timeline) fault(i int, e *history.Event) {
	if e.Fault.Phase == history.PhaseEnd {
		return
	}
	for _, node := range e.Fault.Targets {
		switch e.Fault.Kind {
		case "kill", "shutdown", "power-loss":
			t.down[node] = i
		case "fill":
			t.full[node] = i
		case "flush":
			for _, key := range t.run.keys {
				if h := t.alive(place{node, key}, e.Time); h != nil {
					t.close(h, e.Time, TenureFlushed, i)
				}
			}
		}
	}
}

// look compares what a look into a node showed with what we thought.
func (t *timeline) look(l look) {
	for _, key := range t.run.keys {
		p := place{l.node, key}
		h := t.alive(p, l.time)
		seen, present := l.Keys[key]
		if h != nil && (!present || seen.Token != h.Token) {
			t.gone(l.event, l.time, h)
			h = nil
		}
		if !present {
			continue
		}
		if last := t.last[p]; h == nil && last != nil && last.Token == seen.Token && last.Until == l.time {
			continue // it ended at this instant, and the look was before that
		}
		if h == nil {
			h = t.open(p, l.time, seen.Token, t.owner(seen.Token), l.event)
		}
		t.ttl(h, l.time, seen.TTL)
	}
	// What a restart left is there: if it goes later, something else takes it.
	if down, fell := t.down[l.node]; fell && t.run.event(down).Time < l.time {
		delete(t.down, l.node)
	}
}

// owner gives the client that used a token before, if any did.
func (t *timeline) owner(token string) string {
	for _, h := range slices.Backward(t.all) {
		if h.Token == token {
			return h.Owner
		}
	}
	return ""
}
