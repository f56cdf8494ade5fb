package checker

import (
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// What ends a tenure.
const (
	TenureDeleted   = "deleted"            // by its owner
	TenureExpired   = "expired"            // its time to live ran out on the node's clock
	TenureForgotten = "forgotten"          // the node came back without it
	TenureFlushed   = "flushed"            // an operator removed every key
	TenureEvicted   = "evicted"            // the node made room for other data
	TenureRemoved   = "removed by another" // by the command of another client
	TenureMoved     = "moved"              // its slot went to another master of the Redis Cluster
	TenureResynced  = "resynced"           // the replica took over the state of a master that had lost it
	TenureVanished  = "vanished"           // nothing in the history explains it: an eviction, say
	TenureOpen      = "open"               // the history ended first
)

// keyOwnership is a Tenure as it is kept, with what facts tell of it.
type keyOwnership struct {
	from, until int64
	expires     int64 // when it runs out on the true clock, or never
	excused     int64 // until when it is an obstacle
	node, key   string
	owner       string
	by          string // the client whose command ended it
	token       string
	set         int32 // the event that showed it first: the reply to the SET, or a look
	ender       int32 // the event that ended it; -1 where no event did
	ended       string
}

func (h *keyOwnership) span() span { return span{h.from, h.until} }

// prolongation is one extension of a key on its node.
type prolongation struct {
	time   int64
	client string
	event  int
}

// precision is how far a key's end on a node may be from where the reply to its SET puts it: a
// node counts milliseconds, and its answer travels for one. Of 185 published histories one needs
// more than none, and from 1 to 20 ms all verdicts are the same.
const precision = 2_000_000

// place is a key on a node.
type place struct{ node, key string }

// timeline follows all keys on all nodes through a history.
type timeline struct {
	record *record
	links  map[string]link
	now    map[place]*keyOwnership
	// By node, what last happened to it: it went down, until a look shows what it has kept; its
	// memory was filled; a slot was moved from or to it.
	down, full, moved map[string]moment
	// unanswered is the last delete that reached a place and has no reply yet:
	// its client may be gone, but the node carried it out all the same.
	unanswered map[place]executedDelete
	pending    pendingSets
	looks      []look                  // of the present instant
	last       map[place]*keyOwnership // the latest at each place, alive or not
}

// moment is that of an event.
type moment struct {
	event int
	time  int64
}

// link is a client's way to a node.
type link struct {
	client, node string
	server       bool // the node is a server of this run
}

// executedDelete is a delete at a node.
type executedDelete struct {
	client string
	token  string
	time   int64
	event  int
}

// readTimeline follows the events. In virtual time a fault and the looks before
// and after it may share an instant; the looks come last in it, so that what
// they find gone has its cause.
func readTimeline(r *record) error {
	t := &timeline{
		record: r, links: map[string]link{}, now: map[place]*keyOwnership{}, last: map[place]*keyOwnership{},
		down: map[string]moment{}, full: map[string]moment{}, moved: map[string]moment{},
		unanswered: map[place]executedDelete{}, pending: pendingSets{},
	}
	r.answers = newAnswers(r.faults)
	err := r.source.each(func(i int, e *history.Event) {
		if len(t.looks) > 0 && e.Time > t.looks[0].time {
			t.lookAround()
		}
		t.follow(i, e)
		r.answers.follow(e)
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

// link takes a link's name apart; false if it is none.
func (t *timeline) link(process string) (link, bool) {
	l, known := t.links[process]
	if known {
		return l, true
	}
	client, node, isLink := strings.Cut(process, ">")
	if !isLink {
		return link{}, false
	}
	l = link{client, node, slices.Contains(t.record.header.Servers(), node)}
	t.links[process] = l
	return l, true
}

// command notes what changes a key and has reached a node.
func (t *timeline) command(i int, e *history.Event) {
	l, isLink := t.link(e.Process)
	if !isLink || !l.server {
		return
	}
	switch e.Command.Effect {
	case history.EffectSet, history.EffectExtend:
		t.pending.add(i, e, l, t.place(l, e))
	case history.EffectDelete:
		t.unanswered[t.place(l, e)] = executedDelete{l.client, e.Command.Token, e.Time, i}
	}
}

func (t *timeline) place(l link, e *history.Event) place {
	return place{l.node, e.Command.Key}
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
	h.until, h.ended, h.ender = max(now, h.from), why, int32(ender)
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
func (t *timeline) reply(i int, e *history.Event) {
	l, isLink := t.link(e.Process)
	if !isLink || !l.server || e.Command.Effect == "" {
		return
	}
	p := t.place(l, e)
	switch e.Command.Effect {
	case history.EffectDelete:
		delete(t.unanswered, p)
	case history.EffectExtend:
		t.pending.remove(e, l, p)
	case history.EffectSet:
		t.pending.remove(e, l, p)
		if !e.Command.Done {
			t.refused(e, p)
		}
	}
	if !e.Command.Done {
		return
	}
	h := t.alive(p, e.Time)
	switch e.Command.Effect {
	case history.EffectSet:
		t.set(i, e, l.client, p, h)
	case history.EffectExtend:
		if h != nil {
			t.ttl(i, h, e.Time, t.given(p.node, e))
			t.record.prolonged[h] = append(t.record.prolonged[h], prolongation{e.Time, l.client, i})
		}
	case history.EffectDelete:
		if h != nil {
			t.remove(executedDelete{l.client, e.Command.Token, e.Time, i}, h)
		}
	}
}

// set follows a SET that took the key. If we thought it taken, its owner is
// gone in a way that no reply told.
func (t *timeline) set(i int, e *history.Event, client string, p place, before *keyOwnership) {
	if before != nil {
		if before.token == e.Command.Token {
			// The owner's own token was there already. A SET that is answered OK has set it again.
			if e.Command.Name == "SET" && e.Command.Reply == "OK" {
				t.ttl(i, before, e.Time, t.given(p.node, e))
			}
			return
		}
		t.gone(i, e.Time, before)
	}
	h := t.open(p, e.Time, e.Command.Token, client, i)
	t.ttl(i, h, e.Time, t.given(p.node, e))
}

// given is the time to live that a command sets on its node; 0: none.
func (t *timeline) given(node string, e *history.Event) int64 {
	if e.Command.ExpiresAt == 0 {
		return e.Command.Expiry
	}
	return max(e.Command.ExpiresAt-t.record.clocks.wall[node].at(e.Time), 1)
}

// remove follows a delete, by the owner or by somebody else.
func (t *timeline) remove(d executedDelete, h *keyOwnership) {
	h.by = d.client
	why := TenureDeleted
	if d.client != h.owner || d.token != "" && d.token != h.token {
		why = TenureRemoved
	}
	t.close(h, d.time, why, d.event)
}

// gone ends a holding that turned out to be gone.
func (t *timeline) gone(i int, now int64, h *keyOwnership) {
	down, fell := t.down[h.node]
	full, filled := t.full[h.node]
	moving, slot := t.moved[h.node]
	deletion, sent := t.unanswered[place{h.node, h.key}]
	switch {
	case fell && down.time >= h.from:
		t.close(h, down.time, TenureForgotten, down.event)
	case sent && t.couldDelete(deletion, h):
		t.remove(deletion, h)
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

// couldDelete reports whether a delete may have ended a holding: it came while
// the key was there, and names no other token (a compare-and-delete does).
func (t *timeline) couldDelete(d executedDelete, h *keyOwnership) bool {
	return d.time >= h.from && (d.token == "" || d.token == h.token)
}

// fault follows crashes, flushes and full memories.
func (t *timeline) fault(i int, e *history.Event) {
	if e.Fault.Class == history.SlotMoves { // its end moves keys too
		for _, node := range append(slices.Clone(e.Fault.Targets), e.Fault.Requested["to"]) {
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
			only := e.Fault.Requested["key"] // "": every key
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
