package checker

import (
	"iter"
	"sync"

	"example.org/lockproof/harness/history"
)

// History is a history that has been read. Whatever is asked of it is answered from
// that one reading. It may be asked from several goroutines.
type History struct {
	analysis *analysis
	verdict  func() (Verdict, error)
}

// Read reads a history. It keeps some hundred bytes of each operation and of each
// key that a node had, and nothing of what else was said on the links.
//
// The error says that there is nothing to judge (no header, or events that
// contradict one another), or it is the source's.
func Read(source Source) (*History, error) {
	record, err := readBeliefs(source)
	if err != nil {
		return nil, err
	}
	a, err := analyse(record)
	if err != nil {
		return nil, err
	}
	h := &History{analysis: a}
	h.verdict = sync.OnceValues(func() (Verdict, error) { return a.verdict(secondOracles) })
	return h, nil
}

// Header says what was run.
func (h *History) Header() history.Header { return h.analysis.header }

// Verdict judges the history: one result for each property. It is judged once,
// however often it is asked for.
//
// The error says that events contradict one another, or it is an
// *OracleDisagreement: the checker itself is wrong. A property that is violated
// is no error.
func (h *History) Verdict() (Verdict, error) { return h.verdict() }

// Leases gives every lease, by key and in the order of From: one tenure as its
// client believed it. A lease that was extended after it had run out is two, with
// the same ID. Failed and unknown acquires are none.
func (h *History) Leases() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		for _, k := range h.analysis.keys {
			for _, l := range k.leases {
				if !yield(l.told()) {
					return
				}
			}
		}
	}
}

// Tenures gives every tenure of a key on a node, in the order in which the replies,
// faults and looks of the history show them.
func (h *History) Tenures() iter.Seq[Tenure] {
	r := h.analysis
	return func(yield func(Tenure) bool) {
		for _, held := range r.held {
			t := Tenure{
				Node: held.node, Key: held.key, Token: held.token, Owner: held.owner,
				From: held.from, Until: held.until, Ended: held.ended,
			}
			if !yield(t) {
				return
			}
		}
	}
}

// LostUpdates gives the acknowledged writes to a key's register that are lost, in
// the order in which those that took their places were called.
func (h *History) LostUpdates(key string) []LostUpdate {
	k := h.analysis.byName[key]
	if k == nil {
		return nil
	}
	var lost []LostUpdate
	accesses, _ := k.accesses()
	for _, c := range chain(accesses) {
		if c.kind == lostUpdate && c.early.op.ok() {
			lost = append(lost, LostUpdate{Client: c.early.client, Value: c.early.value, By: c.late.value})
		}
	}
	return lost
}

// Source is a history that is read twice and need not be in memory: it
// hands each event, in the order of time and the header first, to visit, and
// ends with visit's error or its own. The event is visit's until visit returns;
// what its pointers lead to may be kept.
type Source func(visit func(*history.Event) error) error

// InMemory is a history that has been read.
func InMemory(events []history.Event) Source {
	return func(visit func(*history.Event) error) error {
		for i := range events {
			if err := visit(&events[i]); err != nil {
				return err
			}
		}
		return nil
	}
}
