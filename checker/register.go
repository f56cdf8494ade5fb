package checker

import (
	"cmp"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// access is a read or a write at the store that took effect.
type access struct {
	write       bool
	client      string
	base, value string
	// It took effect in [call, ret], ends included.
	call, ret int64
	// unseen: a write that was never acknowledged, but the store let it pass, and
	// nobody saw it. It found its base there, as a read does; who wrote over it
	// without knowing of it has lost nothing that anybody was promised.
	unseen bool
	// accepted is when it was known that the store had let it pass: its client was told, or its
	// link tells; never, if nobody does.
	accepted int64
	// op is the operation behind it.
	op *operation
}

// accesses collects what took effect at the store on one key, in the order of
// the invokes. A failed operation did not. A write took effect while the store
// had it, as its links tell. One of unknown fate did if the store answered that it
// had let it pass, or if somebody saw its value, as read or as the base of a write,
// and then at the latest when the first who saw it was done. Of one that reached the store nobody knows else: had it
// taken effect, it could be the last of all. Those are open.
func (k *keyed) accesses() (accesses, open []access) {
	seen := k.firstSeen()
	accesses = make([]access, 0, len(k.stored))
	for _, o := range k.stored {
		a := access{
			write: o.op == history.OpWrite, client: o.process, base: o.base, value: o.value,
			call: o.asked, ret: o.done, accepted: never, op: o,
		}
		if o.ok() {
			a.accepted = o.done
		}
		p := o.atStore
		if p != nil {
			a.call, a.accepted = p.arrived, min(a.accepted, p.answered)
		}
		if !o.ok() {
			first, somebody := seen[o.value]
			a.unseen = !somebody && p != nil && p.answered != never
			if !a.write || o.outcome == failed {
				continue
			}
			a.ret = never
			if !somebody && !a.unseen {
				if p != nil && !p.rejected {
					open = append(open, a)
				}
				continue
			}
			if somebody {
				a.ret = max(first, a.call)
			}
		}
		if p != nil {
			a.ret = min(a.ret, p.answered)
		}
		accesses = append(accesses, a)
	}
	return accesses, open
}

// firstSeen gives, for each version, when the first operation was over that knew it: a
// version that was seen, and whose writer's fate is unknown otherwise, tells that the
// one it was derived from had been there as well.
func (k *keyed) firstSeen() map[string]int64 {
	seen, unknown := map[string]int64{}, map[string]*operation{}
	for _, o := range k.stored {
		done := o.done
		if !o.ok() {
			if o.op != history.OpWrite || o.outcome == failed {
				continue
			}
			unknown[o.value] = o
			if o.atStore == nil || o.atStore.answered == never {
				continue
			}
			done = o.atStore.answered
		}
		version := o.value
		if o.op == history.OpWrite {
			version = o.base
		}
		if first, known := seen[version]; !known || done < first {
			seen[version] = done
		}
	}
	for version, o := range unknown {
		for at, is := seen[version]; is && o != nil; o = unknown[version] {
			version = o.base
			if first, known := seen[version]; known && first <= at {
				break
			}
			seen[version] = at
		}
	}
	return seen
}

// unique requires that versions are written once each, and never from
// themselves. It gives the first write that is none, nil if all are.
func (k *keyed) unique() *operation {
	versions := map[string]bool{"": true}
	for _, o := range k.stored {
		if o.op != history.OpWrite {
			continue
		}
		if versions[o.value] || o.value == o.base {
			return o
		}
		versions[o.value] = true
	}
	return nil
}

// contradiction is a contradiction between two accesses. The kinds: a lost update
// (both writes were derived from one version), an unknown base (nobody wrote
// it), and an order that contradicts the times (late came after early, but
// saw what was before it).
type contradiction struct {
	kind        contradictionKind
	early, late access
}

type contradictionKind int

const (
	lostUpdate contradictionKind = iota
	unknownVersion
	wrongOrder
)

// chain finds the clashes of one key's accesses, exactly and in linear time,
// for versions are unique and each write names its base: there is only one
// order in which the writes can have happened, and none if two have one base.
// What remains is whether that order agrees with the times.
func chain(accesses []access) []contradiction {
	writers, readers, clashes := index(accesses)
	if len(clashes) > 0 {
		return clashes
	}
	return walk(writers, readers, len(accesses))
}

// index finds the writer from each base and the readers of each version, and
// the accesses that have no place in a chain. Of two writes from one base the
// one that ended first is lost.
func index(accesses []access) (writers map[string]access, readers map[string][]access, clashes []contradiction) {
	writers, readers = map[string]access{}, map[string][]access{}
	values := map[string]bool{"": true}
	for _, a := range accesses {
		if !a.write || a.unseen {
			readers[a.from()] = append(readers[a.from()], a)
			continue
		}
		values[a.value] = true
		other, taken := writers[a.base]
		switch {
		case !taken:
			writers[a.base] = a
		case other.ret <= a.ret:
			clashes = append(clashes, contradiction{lostUpdate, other, a})
			writers[a.base] = a
		default:
			clashes = append(clashes, contradiction{lostUpdate, a, other})
		}
	}
	for _, a := range accesses {
		if known := values[a.from()]; !known {
			clashes = append(clashes, contradiction{unknownVersion, a, a})
		}
	}
	return writers, readers, clashes
}

// from is the version that an access found.
func (a access) from() string {
	if a.write {
		return a.base
	}
	return a.value
}

// walk follows the chain from the initial version and compares it with the
// times. Each access needs a moment in [call, ret] that is not before the
// moments of those that precede it in the chain; the latest of their calls is
// the earliest such moment.
func walk(writers map[string]access, readers map[string][]access, total int) []contradiction {
	var before access // of what precedes, the one that was called last
	before.call = -1
	seen := 0
	for v := ""; ; {
		latest := before
		for _, reader := range readers[v] {
			seen++
			if reader.ret < before.call {
				return []contradiction{{wrongOrder, before, reader}}
			}
			if reader.call > latest.call {
				latest = reader
			}
		}
		before = latest
		w, more := writers[v]
		if !more {
			break
		}
		seen++
		switch {
		case w.ret >= before.call:
		case before.unseen:
			return []contradiction{{lostUpdate, w, before}}
		default:
			return []contradiction{{wrongOrder, before, w}}
		}
		if w.call >= before.call {
			before = w
		}
		v = w.value
	}
	if seen < total { // a ring of writes that does not begin at the initial version
		return ring(writers, readers)
	}
	return nil
}

// ring names an access that the chain does not reach.
func ring(writers map[string]access, readers map[string][]access) []contradiction {
	reached := map[string]bool{}
	for v := ""; !reached[v]; v = writers[v].value {
		reached[v] = true
	}
	var found []contradiction
	for base, w := range writers {
		if !reached[base] {
			found = append(found, contradiction{unknownVersion, w, w})
		}
	}
	slices.SortFunc(found, func(a, b contradiction) int { return cmp.Compare(a.early.call, b.early.call) })
	return found[:1]
}

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
