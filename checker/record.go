package checker

import (
	"cmp"
	"slices"
	"strings"

	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// record is the content of a history, read once for judges, facts and drawings. A [reader], a [timeline] and
// [record.derive] make it; then nothing in it changes.
type record struct {
	header     history.Header
	byName     map[string]*keyed
	keys       []*keyed // those with acquires, sorted by name
	operations operations
	clocks     clocks
	faults     faults
	end        int64           // time of the last event
	finished   bool            // the history was not cut short
	traffic    *traffic.Report // what the raw events on the links show

	extensions map[*operation][]*operation            // of each grant, the successful ones, ordered by end
	ownerships []*keyOwnership                        // of all keys on all nodes
	prolonged  map[*keyOwnership][]moment             // by any client; those that took effect
	changes    []change                               // if a command has an unknown effect: of all clients
	storeLinks bool                                   // it has commands on links to the store
	cancels    []moment                               // by callers, of their clients' current operations, in order
	stalls     []stall                                // in the same order
	names      serverKeys                             // the servers' names of the callers' keys
	replies    nodeReplies                            // replies that show a fault's effect
	looks      map[string]map[string]history.KeyState // by node, the keys that the last look into it found
	// unmet is the script's first unmet precondition; ineffective is the first fault that did not take effect. "":
	// none.
	unmet, ineffective string
	missing            string // which operations the history lacks; "": none
	// keysUnknown is why the owners of the lock's keys are unknown; "": they are known.
	keysUnknown string
	counts      counts
	second      oracles
}

func newRecord() *record {
	return &record{
		looks:      map[string]map[string]history.KeyState{},
		byName:     map[string]*keyed{},
		operations: operations{byID: map[operationID]*operation{}},
		prolonged:  map[*keyOwnership][]moment{}, extensions: map[*operation][]*operation{}, names: newServerKeys(),
		second: oracles{mutex: ownedMutexOracle, register: derivedRegisterOracle},
	}
}

// derive adds what several properties need, once the timeline is known.
func (r *record) derive() {
	for _, k := range r.keys {
		k.inferTokens()
	}
	r.keysUnknown, r.missing = r.names.unknownReason(r.keys), r.operations.missing()
	r.findImpacts()
	r.counts = countsOf(r)
	for _, k := range r.keys {
		k.held, k.waits = spansOf(k.leases), k.waitPeriods(cmp.Or(r.header.Bounds.Grant, r.header.Bounds.Free))
		r.findObstacles(k)
		k.unreachable = k.byClient(func(client string) []span { return r.unreachable(client, k, false) })
		k.excused = k.byClient(func(client string) []span { return union(k.unreachable[client], r.starved(client)) })
	}
}

// nodesOf returns the nodes of a client's own list, of which it needs a majority.
func (r *record) nodesOf(client string) []string {
	if list, some := r.header.ConfiguredNodes[client]; some {
		return list
	}
	return r.header.Nodes
}

// usedBy returns the nodes of a client's list that received a command about a key: the lock uses these, and perhaps
// others. It is the whole list if the lock declares its quorum, or the history shows no such commands.
func (r *record) usedBy(client string, k *keyed) []string {
	list := r.nodesOf(client)
	used := slices.DeleteFunc(slices.Clone(list), func(node string) bool { return !r.names.contactedFor(k.name, node) })
	if r.header.Quorum > 0 || len(used) == 0 {
		return list
	}
	return used
}

// blocked returns when too many nodes are unavailable for a client to be granted a key. unavailable returns the
// intervals of one node. Whichever nodes the lock is on, it has a majority as long as the available ones that it is
// known to use outnumber all unavailable ones: else it may be blocked. It is certainly blocked while the unavailable
// ones that it is known to use are at least as many as all available ones.
func (r *record) blocked(client string, k *keyed, certainly bool, unavailable func(node string) []span) []span {
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
		for _, s := range union(unavailable(node)) {
			all = append(all, weighted{s, weight})
		}
	}
	return spansWeighing(int64(least), all)
}

// keyed is the record of one key.
type keyed struct {
	name       string
	acquires   []*operation  // in the order of their invokes
	storeOps   []*operation  // reads and writes, in the same order
	leases     []lease       // ordered by from
	held       []span        // merged intervals of usable leases
	waits      []*waitPeriod // in the order of their beginnings
	unseen     []unseenKey
	setbacks   []span          // moments, or intervals, from which on its obstacles may last a TTL again
	ownerships []*keyOwnership // ordered by from, except those that a look found late
	taking     []takingCommand // only with fencing tokens, ordered by time
	// By client with an acquire of the key: unreachable are the intervals without a healthy majority in reach. excused
	// are these and the intervals with late timers: a wait in them is not held against the lock. Late timers do not
	// make a late grant count as a timely one.
	unreachable, excused map[string][]span
}

// byClient finds spans for every client with an acquire of the key.
func (k *keyed) byClient(find func(client string) []span) map[string][]span {
	spans := map[string][]span{}
	for _, o := range k.acquires {
		if _, found := spans[o.process]; !found {
			spans[o.process] = find(o.process)
		}
	}
	return spans
}

// key returns the record of a key, a new one if there is none.
func (r *record) key(key string) *keyed {
	k := r.byName[key]
	if k == nil {
		k = &keyed{name: key}
		r.byName[key] = k
	}
	return k
}

func byName(a, b *keyed) int { return strings.Compare(a.name, b.name) }
