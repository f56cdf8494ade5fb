package checker

import (
	"slices"
	"strings"

	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// record is what a history says, taken apart once for all who judge, explain and draw
// it. A [reader] and a [timeline] make it; nothing in it changes afterwards.
type record struct {
	header     history.Header
	source     Source
	byName     map[string]*keyed // whatever was done with a key
	keys       []*keyed          // those that somebody tried to acquire, sorted
	operations operations
	clocks     clocks
	faults     faults
	kills      kills
	end        int64           // time of the last event
	finished   bool            // the history was not cut short
	traffic    *traffic.Report // what the raw events on the links show

	extensions map[*operation][]*operation            // of each grant, those that succeeded, in the order of their ends
	held       []*keyOwnership                        // who owned which key on which node
	prolonged  map[*keyOwnership][]extension          // those that took effect
	cancels    []cancel                               // in the order of the history
	stalls     []stall                                // in the same order
	names      serverKeys                             // what the servers have of the callers' keys
	answers    answers                                // where they say something of a fault
	looks      map[string]map[string]history.KeyState // by node, the keys that the last look into it found
	// unmet is the first step of the script that did not come out as it had to for the run to
	// show anything; ineffective is the first fault that did not take effect. "": there is none.
	unmet, ineffective string
}

func newRecord(source Source) *record {
	return &record{
		source: source, looks: map[string]map[string]history.KeyState{},
		byName:     map[string]*keyed{},
		operations: operations{byID: map[operationID]*operation{}},
		kills:      kills{},
		prolonged:  map[*keyOwnership][]extension{}, extensions: map[*operation][]*operation{}, names: newServerKeys(),
	}
}

// nodesOf gives the nodes of a client's own list, of which it needs a majority.
func (r *record) nodesOf(client string) []string {
	if list, some := r.header.ConfiguredNodes[client]; some {
		return list
	}
	return r.header.Nodes
}

// usedBy gives the nodes of a client's list that anybody was seen to ask for a key: the lock is on these, and nobody
// knows whether it is on the others. It is on all where it says of how many it needs a key, and where the history tells
// of no commands.
func (r *record) usedBy(client string, k *keyed) []string {
	list := r.nodesOf(client)
	used := slices.DeleteFunc(slices.Clone(list), func(node string) bool { return !r.names.askedFor(k.name, node) })
	if r.header.Quorum > 0 || len(used) == 0 {
		return list
	}
	return used
}

// blocked gives the stretches for which so many nodes failed that a client is not granted a key, each of them for
// the stretches that when gives. Whichever nodes of the list it is on, the lock has a majority as long as the healthy
// ones that it uses outnumber all that fail: else it may be blocked. It is certainly blocked while those that it uses
// and that fail are as many as all healthy ones.
func (r *record) blocked(client string, k *keyed, certainly bool, when func(node string) []span) []span {
	var all []weighted
	used := r.usedBy(client, k)
	least := len(used)
	if certainly {
		least = len(r.nodesOf(client))
	}
	for _, node := range r.nodesOf(client) {
		weight := int64(1)
		if slices.Contains(used, node) {
			weight = 2
		}
		for _, s := range union(when(node)) {
			all = append(all, weighted{s, weight})
		}
	}
	return weighing(int64(least), all)
}

// keyed is what was done with one key.
type keyed struct {
	name     string
	acquires []*operation  // in the order of their invokes
	stored   []*operation  // reads and writes, in the same order
	leases   []lease       // in the order of from
	held     []span        // while it was held by somebody who could use it
	waits    []*waitPeriod // in the order of their beginnings
	unseen   []unseenKey
	setbacks []span          // moments, or stretches, from which on its obstacles may take their time again
	tenures  []*keyOwnership // in the order of from, but for those that a look found late
	taking   []takingCommand // of a lock with fencing tokens, in the order of their times
	// unreachable are, for every client that tries to acquire it, the stretches for which the client could not reach a
	// majority. excused are those in which its wait shows nothing against the lock: it was starved, too. What it was
	// granted meanwhile is no better for that.
	unreachable, excused map[string][]span
}

// byClient finds spans for every client that tries to acquire the key.
func (k *keyed) byClient(find func(client string) []span) map[string][]span {
	spans := map[string][]span{}
	for _, o := range k.acquires {
		if _, found := spans[o.process]; !found {
			spans[o.process] = find(o.process)
		}
	}
	return spans
}

// key gives what was done with a key.
func (r *record) key(key string) *keyed {
	k := r.byName[key]
	if k == nil {
		k = &keyed{name: key}
		r.byName[key] = k
	}
	return k
}

func byName(a, b *keyed) int { return strings.Compare(a.name, b.name) }
