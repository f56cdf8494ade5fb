package history

import (
	"maps"
	"slices"
)

// Header is the first event of a history: enough to judge it by itself.
// Durations are in nanoseconds.
type Header struct {
	Version  int    `json:"version"`
	Scenario string `json:"scenario"`
	Variant  string `json:"variant,omitempty"` // "" for the scenario as it stands
	Cluster  string `json:"cluster"`           // virtual, local, docker
	Server   string `json:"server,omitempty"`  // redis 7.0.15, miniredis 2.40.0
	Seed     uint64 `json:"seed"`
	Trial    int    `json:"trial"`

	Lock    string   `json:"lock"`
	Without []string `json:"without,omitempty"` // rules switched off
	// BeliefText says in words how long a client believes in a lease, and who says so,
	// where it is not the lock itself; "" where it is.
	BeliefText string   `json:"belief,omitempty"`
	TTL        int64    `json:"ttl"`
	Nodes      []string `json:"nodes"`
	// Quorum is on how many nodes the lock says that it has to take a key; 0: it does
	// not say.
	Quorum  int      `json:"quorum,omitempty"`
	Clients []string `json:"clients"`
	// ConfiguredNodes are the nodes that a client's lock is given, of each client that is not
	// given all of them.
	ConfiguredNodes map[string][]string `json:"configured,omitempty"`
	// ClientTTLs are the TTLs of the clients that have one of their own.
	ClientTTLs map[string]int64 `json:"client_ttls,omitempty"`
	// Replicas are the servers beside the nodes, each with its master.
	Replicas map[string]string `json:"replicas,omitempty"`
	// RealTime is whether a stall of the harness can spoil the run.
	RealTime bool `json:"real_time"`
	// FencedStore is whether the store checks fencing tokens; Fencing is
	// whether the lock issues them.
	FencedStore bool `json:"fenced_store,omitempty"`
	Fencing     bool `json:"fencing,omitempty"`

	Expect map[string]string `json:"expect"` // property to verdict
	// AllowBetter: the expectations are the reference's, and this is another lock
	// or a rule is off; a better verdict than expected is as expected.
	AllowBetter bool   `json:"lenient,omitempty"`
	Bounds      Bounds `json:"bounds"`
	Earned      Earned `json:"earned"`
	// StallLimit is the lateness from which on a stall spoils the run.
	StallLimit int64 `json:"stall_limit,omitempty"`
}

// Servers lists the nodes, and then their replicas.
func (h Header) Servers() []string {
	return append(slices.Clone(h.Nodes), slices.Sorted(maps.Keys(h.Replicas))...)
}

// Bounds are what the liveness properties promise in this run.
type Bounds struct {
	// Free is how long after faults are healed and holders are gone a waiting
	// client may have to wait for the lock.
	Free int64 `json:"free"`
	// Grant is how long an acquire may take while its client reaches a healthy
	// majority and the lock is free.
	Grant int64 `json:"grant"`
	// Release is how long a release may take while its client reaches a healthy
	// majority, until it returns and until it has taken effect. 0: none is judged.
	Release int64 `json:"release,omitempty"`
	// Cancel is how long an acquire may go on after its caller has cancelled it. 0: none
	// is judged.
	Cancel int64 `json:"cancel,omitempty"`
	// Tenure, if not 0, is the longest time for which one client may keep the
	// lock by extensions while another waits for it.
	Tenure int64 `json:"tenure,omitempty"`
}

// BoundNames are the bounds' names, as scenario files have them.
var BoundNames = []string{"free", "grant", "release", "cancel", "tenure"}

// Find gives the bound of a name.
func (b *Bounds) Find(name string) *int64 {
	return map[string]*int64{"free": &b.Free, "grant": &b.Grant, "release": &b.Release, "cancel": &b.Cancel,
		"tenure": &b.Tenure}[name]
}

// Earned is what must have happened for a "holds" to mean anything.
type Earned struct {
	// Grants is the least number of leases.
	Grants int `json:"grants"`
	// Contended is the least number of acquires by one client that overlapped
	// another client's acquire, lease, or key on a node, for the same key.
	Contended int `json:"contended"`
	// Faults is the least number of effective faults that overlapped a lease
	// or an acquire.
	Faults int `json:"faults"`
	// Writes is the least number of acknowledged writes at the store, for
	// protected-data.
	Writes int `json:"writes,omitempty"`
	// Refused is the least number of failed acquires or extends, for scenarios
	// whose point is that the lock refuses.
	Refused int `json:"refused,omitempty"`
}

// The verdicts on a property.
const (
	Holds        = "holds"
	Violated     = "violated"
	Inconclusive = "inconclusive"
)
