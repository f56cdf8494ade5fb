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
	// unseen: a write that was never acknowledged and that no operation saw, but that the store accepted. It found its
	// base there, as a read does. A write that replaces it without knowing it loses no promised update.
	unseen bool
	// accepted is when the store's acceptance was known, from the client's ok or from the link; never, if neither shows
	// it.
	accepted int64
	op       *operation
}

// accesses returns the accesses to one key at the store that took effect, in invoke order. A failed operation had no
// effect. A write took effect between its arrival and its reply on the store's link, if the link shows them. A write
// with an unknown outcome took effect if the store's reply accepted it, or if an operation saw its value, and then
// before the first such operation ended. Any other write that reached the store and was not rejected is open: it may
// have taken effect, last of all. If no link to the store is recorded, any other write may have reached it.
func (r *record) accesses(k *keyed) (accesses, open []access) {
	seen := k.firstSeen()
	accesses = make([]access, 0, len(k.storeOps))
	for _, o := range k.storeOps {
		a := access{
			write: o.op == history.OpWrite, client: o.process, base: o.base, value: o.value,
			call: o.invoked, ret: o.done, accepted: never, op: o,
		}
		if o.ok() {
			a.accepted = o.done
		}
		p := o.atStore
		if p != nil {
			a.call, a.accepted = p.arrived, min(a.accepted, p.answered)
		}
		if !o.ok() {
			first, isSeen := seen[o.value]
			a.unseen = !isSeen && p != nil && p.answered != never
			if !a.write || o.outcome == failed {
				continue
			}
			a.ret = never
			if !isSeen && !a.unseen {
				if p == nil && !r.storeLinks || p != nil && !p.rejected {
					open = append(open, a)
				}
				continue
			}
			if isSeen {
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

// firstSeen returns, for each version, when the first operation that knew it ended. A seen version, if only its
// writer's outcome is unknown, shows that its base existed as well.
func (k *keyed) firstSeen() map[string]int64 {
	seen, unknown := map[string]int64{}, map[string]*operation{}
	for _, o := range k.storeOps {
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

// duplicateVersion returns the first write that stores an existing version or its own base, or nil.
func (k *keyed) duplicateVersion() *operation {
	versions := map[string]bool{"": true}
	for _, o := range k.storeOps {
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

// contradiction is a contradiction between two accesses. The kinds: a lost update (both writes have one base), an
// unknown version (no write stored it), and a wrong order (late came after early, but saw what was before it).
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

// chain finds the contradictions of one key's accesses, exactly and in linear time. Versions are unique and each write
// names its base, so the writes have only one possible order, or none if two have one base. It remains to compare that
// order with the times.
func chain(accesses []access) []contradiction {
	writers, readers, clashes := index(accesses)
	if len(clashes) > 0 {
		return clashes
	}
	return walk(writers, readers, len(accesses))
}

// index finds the writer from each base, the readers of each version, and the accesses that fit no chain. Of two writes
// from one base, the one that ended first is lost.
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
	var before access // of the preceding accesses, the one that was called last
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

// ring reports the first access that the chain does not reach.
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

// storeWrite is a write as the store's links show it: it took effect in [arrived, answered], if at all, whatever its
// client learned.
type storeWrite struct {
	arrived  int64
	answered int64 // never, if no reply accepted it
	rejected bool  // a reply rejected it
}

// version is a version of a key's register, which a write stores.
type version struct {
	key   string
	value string
}

func (r *reader) trackStoreWrite(e *history.Event) {
	link, _ := e.Link()
	r.storeLinks = r.storeLinks || link.To == history.StoreName
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

// trackWrite keeps an invoked write until its client reports success.
func (r *reader) trackWrite(o *operation) {
	v := version{o.key, o.value}
	switch {
	case o.op != history.OpWrite:
	case o.ok():
		delete(r.writing, v)
	default:
		r.writing[v] = o
	}
}
