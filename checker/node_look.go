package checker

import "example.org/lockproof/harness/history"

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
		seen, present := l.Keys[k.name]
		if h != nil && (!present || seen.Token != h.token) {
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
