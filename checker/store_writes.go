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
	rejected bool  // it said that it did not
}

// version is one that a write leaves at a key's register.
type version struct {
	key   string
	value string
}

// atStore follows a write on a link to the store.
func (r *reader) atStore(e *history.Event) {
	link, _ := e.Link()
	if e.Command == nil || e.Command.Effect != history.EffectSet || link.To != history.StoreName {
		return
	}
	key := strings.TrimPrefix(e.Command.Key, history.RegisterPrefix)
	o := r.writing[version{key, e.Command.Token}]
	switch {
	case o == nil:
	case e.Type == history.TypeCommand && o.atStore == nil:
		o.atStore = &storeWrite{arrived: e.Time, answered: never}
	case e.Type != history.TypeReply || o.atStore == nil:
	case e.Command.Done:
		o.atStore.answered = min(o.atStore.answered, e.Time)
	default:
		o.atStore.rejected = true
	}
}

// writes notes a write that was invoked, until its client hears of its success.
func (r *reader) writes(o *operation) {
	v := version{o.key, o.value}
	switch {
	case o.op != history.OpWrite:
	case o.ok():
		delete(r.writing, v)
	default:
		r.writing[v] = o
	}
}
