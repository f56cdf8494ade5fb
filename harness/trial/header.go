package trial

import "lockproof/harness/history"

// Header is a run's first event: that of the trial of that number and seed, on
// servers of that name.
func (p *Plan) Header(server string, trial int, seed uint64) history.Event {
	h := history.Header{
		Version: history.Version, Scenario: p.Name, Variant: p.Settings.Variant, Lenient: p.Settings.Lenient,
		Cluster: p.Settings.On.Name, Server: server, Seed: seed, Trial: trial, Lock: p.Lock.Name, Without: p.Without, Belief: p.Lock.Belief, TTL: int64(p.TTL), Nodes: p.Nodes,
		Clients: p.clientNames(), Replicas: p.Replicas, RealTime: p.Settings.On.RealTime(),
		FencedStore: p.Store.Check.Fenced(), Fencing: p.Lock.Fencing,
		Expect: p.Expect, Bounds: p.bounds(), Earned: p.earned(), StallLimit: int64(stallLimit(p.TTL)),
	}
	return history.Event{Process: "harness", Type: history.TypeHeader, Header: &h}
}
