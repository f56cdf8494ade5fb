package checker

import (
	"sync"

	"example.org/lockproof/harness/history"
)

// History is a history that has been read, once. It is safe for concurrent use.
type History struct {
	record  *record
	verdict func() (Verdict, error)
}

// Read reads a history. It keeps some hundred bytes of each operation and of each key's ownership on a node, and little
// else of the messages on the links.
//
// The error is the source's, or says that the history cannot be judged: it has no header, or its events contradict one
// another.
func Read(source Source) (*History, error) {
	r, err := readRecord(source)
	if err != nil {
		return nil, err
	}
	if err := readTimeline(r, source); err != nil {
		return nil, err
	}
	r.derive()
	return &History{record: r, verdict: sync.OnceValues(r.verdict)}, nil
}

// Header is the history's header: its scenario and settings.
func (h *History) Header() history.Header { return h.record.header }

// Verdict judges the history, one result for each property. Further calls return the first verdict.
//
// The error says that events contradict one another, or it is an *OracleDisagreement: the checker itself is wrong. A
// violated property is not an error.
func (h *History) Verdict() (Verdict, error) { return h.verdict() }

// Leases returns every lease, by key and ordered by From. A lease that was extended after its end is two, with the same
// ID. Acquires that failed or have an unknown outcome have none.
func (h *History) Leases() (all []Lease) {
	for _, k := range h.record.keys {
		for _, l := range k.leases {
			all = append(all, l.result())
		}
	}
	return all
}

// Ownerships returns every ownership of a key on a node, in the order in which the history's replies, faults and looks
// show them.
func (h *History) Ownerships() (all []Ownership) {
	for _, held := range h.record.ownerships {
		all = append(all, Ownership{
			Node: held.node, Key: held.key, Token: held.token, Owner: held.owner,
			From: held.from, Until: held.until, Ended: held.ended,
		})
	}
	return all
}

// LostUpdates returns the acknowledged writes to a key's register that are lost, ordered by the later invocation of the
// two writes that conflict.
func (h *History) LostUpdates(key string) []LostUpdate {
	k := h.record.byName[key]
	if k == nil {
		return nil
	}
	var lost []LostUpdate
	accesses, _ := h.record.accesses(k)
	for _, c := range chain(accesses) {
		if c.kind == lostUpdate && c.early.op.ok() {
			lost = append(lost, LostUpdate{Client: c.early.client, Value: c.early.value, By: c.late.value})
		}
	}
	return lost
}

// Source is a history that is read twice and need not be in memory. It passes each event to visit, the header first and
// the rest in time order, and returns visit's error or its own. The event itself is valid only until visit returns;
// visit may keep what its pointers refer to.
type Source func(visit func(*history.Event) error) error

// InMemory is the source of events in memory.
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
