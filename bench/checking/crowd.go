package checking

import (
	"fmt"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// The size of the crowd.
const (
	keys    = 100
	clients = 10
)

// The times in a lease's life, in nanoseconds; a lease begins every `interval`.
const (
	interval = 1000
	granted  = 200
	released = 700
	freed    = 900
)

// Crowd is a history of this many leases over a hundred keys by ten clients, generated on the fly. All are released.
// With overlap, the last leases of each key are not released before the next grant.
func Crowd(leases int, overlap bool) checker.Source { return crowd(leases, overlap, nil) }

// CrowdOnNodes is a Crowd with the commands and replies of five nodes: ten commands for each lease.
func CrowdOnNodes(leases int) checker.Source { return crowd(leases, false, nodes) }

var nodes = []string{"n1", "n2", "n3", "n4", "n5"}

func crowd(leases int, overlap bool, nodes []string) checker.Source {
	var names [keys]string
	for i := range names {
		names[i] = fmt.Sprint("k", i+1)
	}
	var processes [clients]string
	for i := range processes {
		processes[i] = fmt.Sprint("c", i+1)
	}
	var links [clients][]string
	for i, client := range processes {
		for _, node := range nodes {
			links[i] = append(links[i], client+">"+node)
		}
	}
	return func(visit func(*history.Event) error) error {
		if err := visit(header(processes[:], nodes)); err != nil {
			return err
		}
		var e history.Event         // reused: visit may use it until it returns
		var operations [clients]int // of each, so far
		for i := range leases {
			l := lease{begin: int64(i) * interval, client: processes[i%clients], key: names[(i/clients+i)%keys],
				id: operations[i%clients] + 1, kept: overlap && i >= leases-2*keys}
			operations[i%clients] = l.id
			if !l.kept {
				operations[i%clients]++ // its release
			}
			l.links, l.serial = links[i%clients], int64(2*(i/clients))
			if err := l.emit(&e, visit); err != nil {
				return err
			}
		}
		return visit(&history.Event{Time: int64(leases) * interval, Process: "harness", Type: history.TypeEnd})
	}
}

func header(processes, onNodes []string) *history.Event {
	quorum := 0
	if len(onNodes) > 0 {
		quorum = 3
	}
	return &history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{
		Version: history.Version, Scenario: "crowd", Cluster: "virtual", Lock: "redlock", TTL: 1e9,
		Nodes: nodes, Quorum: quorum, Clients: processes,
		Expect: map[string]string{checker.MutualExclusion: history.Holds}, Bounds: history.Bounds{Free: 1.5e9, Grant: 0.5e9},
	}}
}

// lease is one client's acquire and release.
type lease struct {
	begin       int64
	client, key string
	id          int
	kept        bool // not released, and believed until after the next grant
	links       []string
	serial      int64 // of the last command on each link
}

// emit passes the lease's events to visit, in e.
func (l lease) emit(e *history.Event, visit func(*history.Event) error) error {
	*e = history.Event{Time: l.begin, Process: l.client, Type: history.TypeInvoke, Op: history.OpAcquire, ID: l.id,
		Key: l.key}
	if err := visit(e); err != nil {
		return err
	}
	set := history.Command{Serial: l.serial + 1, Name: "SET", Expiry: 1e9, Effect: history.EffectSet, Reply: "OK"}
	if err := l.command(set, l.begin, visit); err != nil {
		return err
	}
	*e = history.Event{Process: l.client, Op: history.OpAcquire, ID: l.id, Key: l.key}
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
	deletion := history.Command{Serial: l.serial + 2, Name: "EVALSHA", Effect: history.EffectDelete, Reply: "1"}
	if err := l.command(deletion, l.begin+released, visit); err != nil {
		return err
	}
	*e = history.Event{Time: l.begin + freed, Process: l.client, Type: history.TypeOK, Op: history.OpRelease,
		ID: l.id + 1, Key: l.key}
	return visit(e)
}

// command passes the commands and replies of each node to visit, from time at on.
func (l lease) command(c history.Command, at int64, visit func(*history.Event) error) error {
	c.Key, c.Token = l.key, l.key
	reply := c.Reply
	for i, link := range l.links {
		asked, answered := c, c
		asked.Reply, answered.Done = "", true
		answered.Reply = reply
		at := at + int64(10*i)
		if err := visit(&history.Event{Time: at + 1, Process: link, Type: history.TypeCommand, Key: l.key,
			Command: &asked}); err != nil {
			return err
		}
		if err := visit(&history.Event{Time: at + 5, Process: link, Type: history.TypeReply, Key: l.key,
			Command: &answered}); err != nil {
			return err
		}
	}
	return nil
}
