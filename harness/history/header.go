package history

import (
	"maps"
	"slices"
)

// Header is the first event of a history, with all that is needed to judge it. Durations are in nanoseconds.
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
	// BeliefText describes how long a client relies on a lease, and why; "" if the lease reports its validity.
	BeliefText string   `json:"belief,omitempty"`
	TTL        int64    `json:"ttl"`
	Nodes      []string `json:"nodes"`
	// Quorum is the number of nodes that the lock declares to need for an acquire; 0: it declares none.
	Quorum  int      `json:"quorum,omitempty"`
	Clients []string `json:"clients"`
	// ConfiguredNodes are the nodes of each client whose lock does not use all.
	ConfiguredNodes map[string][]string `json:"configured,omitempty"`
	// ClientTTLs are the TTLs of the clients with their own.
	ClientTTLs map[string]int64 `json:"client_ttls,omitempty"`
	// Replicas maps replicas to their masters.
	Replicas map[string]string `json:"replicas,omitempty"`
	// RealTime: a stall of the harness can spoil the run.
	RealTime bool `json:"real_time"`
	// FencedStore: the store checks fencing tokens. Fencing: the lock issues them.
	FencedStore bool `json:"fenced_store,omitempty"`
	Fencing     bool `json:"fencing,omitempty"`

	Expect map[string]string `json:"expect"` // property to verdict
	// AllowBetter: the expectations are the reference's, and this is another lock or a rule is off, so "holds" is always
	// as expected.
	AllowBetter bool   `json:"lenient,omitempty"`
	Bounds      Bounds `json:"bounds"`
	Earned      Earned `json:"earned"`
	// StallLimit is the lateness above which a stall spoils the run.
	StallLimit int64 `json:"stall_limit,omitempty"`
}

// Servers lists the nodes, and then their replicas.
func (h Header) Servers() []string {
	return append(slices.Clone(h.Nodes), slices.Sorted(maps.Keys(h.Replicas))...)
}

// Bounds are the bounds of the liveness properties in this run.
type Bounds struct {
	// Free bounds the wait for the lock once faults are healed and holders are gone.
	Free int64 `json:"free"`
	// Grant bounds an acquire while its client reaches a healthy majority and the lock is free.
	Grant int64 `json:"grant"`
	// Release bounds a release, until it returns and until it has taken effect, while its client reaches a healthy
	// majority. 0: none is judged.
	Release int64 `json:"release,omitempty"`
	// Cancel bounds the rest of an acquire after its cancellation. 0: none is judged.
	Cancel int64 `json:"cancel,omitempty"`
	// Tenure, if not 0, bounds the time for which one client may keep the lock by extensions while another waits for it.
	Tenure int64 `json:"tenure,omitempty"`
}

// BoundNames are the bounds' names in scenario files.
var BoundNames = []string{"free", "grant", "release", "cancel", "tenure"}

// Find returns the bound of that name.
func (b *Bounds) Find(name string) *int64 {
	return map[string]*int64{"free": &b.Free, "grant": &b.Grant, "release": &b.Release, "cancel": &b.Cancel,
		"tenure": &b.Tenure}[name]
}

// Earned are the minimum numbers of events without which a "holds" is vacuous.
type Earned struct {
	// Grants counts leases.
	Grants int `json:"grants"`
	// Contended counts acquires that overlapped another client's acquire, lease, or key on a node, for the same key.
	Contended int `json:"contended"`
	// Faults counts effective faults that overlapped a lease or an acquire.
	Faults int `json:"faults"`
	// Writes counts acknowledged writes at the store, for protected-data.
	Writes int `json:"writes,omitempty"`
	// Refused counts failed acquires or extends, for scenarios whose point is that the lock refuses.
	Refused int `json:"refused,omitempty"`
}

// The verdicts on a property.
const (
	Holds        = "holds"
	Violated     = "violated"
	Inconclusive = "inconclusive"
)
