package checking

import (
	"fmt"

	"lockproof/checker"
	"lockproof/harness/history"
)

// The crowd: who locks what.
const (
	keys    = 100
	clients = 10
)

// The times in a lease's life, in nanoseconds; one begins every `interval`.
const (
	interval = 1000
	granted  = 200
	released = 700
	freed    = 900
)

// Crowd is a history of as many leases over a hundred keys by ten clients, each
// given back, as a source that makes up its events as it goes. With overlap, the
// last leases of each key are not given back before the next is granted.
func Crowd(leases int, overlap bool) checker.Source {
	var names [keys]string
	for i := range names {
		names[i] = fmt.Sprint("k", i+1)
	}
	var processes [clients]string
	for i := range processes {
		processes[i] = fmt.Sprint("c", i+1)
	}
	return func(visit func(*history.Event) error) error {
		if err := visit(header(processes[:])); err != nil {
			return err
		}
		var e history.Event // one for all: it is visit's until visit returns
		for i := range leases {
			l := lease{begin: int64(i) * interval, client: processes[i%clients], key: names[(i/clients+i)%keys], id: 2*(i/clients) + 1}
			l.kept = overlap && i >= leases-2*keys
			if err := l.tell(&e, visit); err != nil {
				return err
			}
		}
		return visit(&history.Event{Time: int64(leases) * interval, Process: "harness", Type: history.TypeEnd})
	}
}

func header(processes []string) *history.Event {
	return &history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{
		Version: history.Version, Scenario: "crowd", Cluster: "virtual", Lock: "redlock", TTL: 1e9,
		Nodes: []string{"n1", "n2", "n3", "n4", "n5"}, Clients: processes,
		Expect: map[string]string{checker.MutualExclusion: history.Holds}, Bounds: history.Bounds{Free: 1.5e9, Grant: 0.5e9},
	}}
}

// lease is one client's acquire and release.
type lease struct {
	begin       int64
	client, key string
	id          int
	kept        bool // it is not released, and is believed for longer than the next one takes to come
}

// tell hands its events to visit, in e.
func (l lease) tell(e *history.Event, visit func(*history.Event) error) error {
	*e = history.Event{Time: l.begin, Process: l.client, Type: history.TypeInvoke, Op: history.OpAcquire, ID: l.id, Key: l.key}
	if err := visit(e); err != nil {
		return err
	}
	e.Time, e.Type, e.Token, e.Validity = l.begin+granted, history.TypeOK, l.key, 10*interval
	if l.kept {
		e.Validity = 2 * keys * interval
	}
	if err := visit(e); err != nil || l.kept {
		return err
	}
	*e = history.Event{Time: l.begin + released, Process: l.client, Type: history.TypeInvoke, Op: history.OpRelease,
		ID: l.id + 1, Lease: l.id, Key: l.key}
	if err := visit(e); err != nil {
		return err
	}
	e.Time, e.Type = l.begin+freed, history.TypeOK
	return visit(e)
}
