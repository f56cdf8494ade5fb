package checker

import (
	"strings"

	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// record is what a history says, taken apart once for all who judge, explain and draw
// it. A [reader] and a [timeline] make it; nothing in it changes afterwards.
type record struct {
	setup
	events
	words words
	keyTable
	operations operations
	passages   storeWrites
	clocks     clocks
	faults     faults
	kills      kills
	end        int64           // time of the last event
	lastDeed   int64           // time of the last invoke or outcome of an operation
	finished   bool            // the history was not cut short
	commanded  map[string]int  // the links on which commands reached a node, and the first such event
	traffic    *traffic.Report // what the raw events on the links show

	held      []*keyOwnership                  // who owned which key on which node
	prolonged map[*keyOwnership][]prolongation // the extensions that took effect
	cancels   []cancel                         // in the order of the history
	unknown   unmodelled                       // the commands of which it is not known what they did
	answers   answers                          // where they say something of a fault
	moments   map[string]bool                  // the nodes on which a key was given a moment to expire at, and the clients that gave one
}

func newRecord(source Source) *record {
	words := words{}
	return &record{
		events:     events{source: source, looks: map[string]lastLook{}},
		words:      words,
		keyTable:   keyTable{byName: map[string]*keyed{}},
		operations: operations{words: words, byID: map[operationID]*operation{}},
		passages:   storeWrites{open: map[version]*operation{}}, kills: kills{}, commanded: map[string]int{},
		prolonged: map[*keyOwnership][]prolongation{}, moments: map[string]bool{},
		unknown: unmodelled{map[sentCommand]doubt{}, map[string]doubt{}},
	}
}

// setup is what was run, as the header says.
type setup struct{ header history.Header }

// nodesOf gives the nodes of a client's own list, of which it needs a majority.
func (s *setup) nodesOf(client string) []string {
	if list, some := s.header.ConfiguredNodes[client]; some {
		return list
	}
	return s.header.Nodes
}

// blockingFor is how many nodes of its list prevent that a client is granted the lock when
// they say no, or nothing.
func (s *setup) blockingFor(client string) int {
	n := len(s.nodesOf(client))
	return n - (n/2 + 1) + 1
}

// keyed is what was done with one key.
type keyed struct {
	name      string
	acquires  []*operation  // in the order of their invokes
	stored    []*operation  // reads and writes, in the same order
	leases    []lease       // in the order of from
	held      []span        // while it was held by somebody who could use it
	waits     []*waitPeriod // in the order of their beginnings
	obstacles func() *blockingKeys
	tenures   []*keyOwnership // in the order of from, but for those that a look found late
}

// keyTable finds what was done with a key.
type keyTable struct {
	byName map[string]*keyed // whatever was done with it
	keys   []*keyed          // those that somebody tried to acquire, sorted
}

// key gives what was done with a key.
func (t *keyTable) key(key string) *keyed {
	k := t.byName[key]
	if k == nil {
		k = &keyed{name: key}
		t.byName[key] = k
	}
	return k
}

// of gives what was done with the key of that name, which may be nothing.
func (t *keyTable) of(key string) *keyed {
	if k := t.byName[key]; k != nil {
		return k
	}
	return &keyed{name: key}
}

func byName(a, b *keyed) int { return strings.Compare(a.name, b.name) }

// words keeps one copy of each string, so that what is kept of an event does not keep its whole line.
type words map[string]string

func (w words) of(s string) string {
	kept, known := w[s]
	if !known {
		kept = strings.Clone(s)
		w[kept] = kept
	}
	return kept
}
