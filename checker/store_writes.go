package checker

import (
	"strings"

	"example.org/lockproof/harness/history"
)

// storeWrite is what the store's links tell of a write: it took effect in
// [arrived, answered], whatever its client learned of it.
type storeWrite struct {
	arrived  int64
	answered int64 // never, if the store did not say that it let the write pass
}

// storeWrites follow writes to the store and back. Histories of older releases have none.
type storeWrites struct {
	made []storeWrite
	// open are the writes that were invoked and whose clients have not heard of a
	// success yet.
	open map[version]*operation
}

// version is one that a write leaves at a key's register.
type version struct {
	key   string
	value string
}

// storeLink ends the names of links to the store.
const storeLink = ">store"

// of gives a write's passage; false if no link tells of it.
func (ps *storeWrites) of(o *operation) (storeWrite, bool) {
	if o.passage == 0 {
		return storeWrite{}, false
	}
	return ps.made[o.passage-1], true
}

// atStore follows a write on a link to the store.
func (r *reader) atStore(e *history.Event) {
	if e.Command == nil || e.Command.Effect != history.EffectSet || !strings.HasSuffix(e.Process, storeLink) {
		return
	}
	key := strings.TrimPrefix(e.Command.Key, history.RegisterPrefix)
	o := r.passages.open[version{key, e.Command.Token}]
	switch {
	case o == nil:
	case e.Type == history.TypeCommand && o.passage == 0:
		r.passages.made = append(r.passages.made, storeWrite{e.Time, never})
		o.passage = int32(len(r.passages.made))
	case e.Type == history.TypeReply && e.Command.Done && o.passage > 0:
		p := &r.passages.made[o.passage-1]
		p.answered = min(p.answered, e.Time)
	}
}

// sets notes a write that was invoked, until its client hears of its success.
func (ps *storeWrites) sets(o *operation) {
	if o.op != history.OpWrite {
		return
	}
	v := version{o.key, o.value}
	if o.ok() {
		delete(ps.open, v)
		return
	}
	ps.open[v] = o
}
