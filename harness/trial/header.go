package trial

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// Header is a run's first event: that of the trial of that number and seed, on
// servers of that name.
func (p *Plan) Header(server string, trial int, seed uint64) history.Event {
	h := history.Header{
		Version: history.Version, Scenario: p.Name, Variant: p.Job.Variant, AllowBetter: p.Job.AllowBetter,
		Cluster: p.Settings.On.Name, Server: server, Seed: seed, Trial: trial, Lock: p.Lock.Name, Without: p.Without,
		BeliefText: p.Lock.Belief, TTL: int64(p.TTL), Nodes: p.Nodes, Quorum: p.quorum(),
		Clients: p.clientNames(), ConfiguredNodes: p.configuredNodes(), ClientTTLs: p.clientTTLs(), Replicas: p.Replicas,
		RealTime: p.Settings.On.RealTime(), FencedStore: p.Store.Fenced(), Fencing: p.Lock.Fencing,
		Expect: p.Expect, Bounds: p.bounds(), Earned: p.earned(), StallLimit: int64(p.stallLimit()),
	}
	return history.Event{Process: "harness", Type: history.TypeHeader, Header: &h}
}

// quorum is on how many nodes the lock says that it has to take a key, 0 if it does
// not say.
func (p *Plan) quorum() int {
	switch {
	case p.Lock.External, p.RedisCluster != nil: // whose clients are no nodes
		return 0
	case p.Lock.SingleNode:
		return 1
	case p.Lock.Majority:
		return len(p.Nodes)/2 + 1
	}
	return 0
}

// configuredNodes gives the nodes that a client's lock is given, for the clients that the scenario
// gives some only. Who has an alias has the server behind it.
func (p *Plan) configuredNodes() map[string][]string {
	lists := map[string][]string{}
	for _, c := range p.Clients {
		if len(c.Nodes) == 0 {
			continue
		}
		list := slices.Clone(c.Nodes)
		for alias, server := range p.Aliases {
			if slices.Contains(list, alias) && !slices.Contains(list, server) {
				list = append(list, server)
			}
		}
		slices.Sort(list)
		lists[c.Name] = list
	}
	return lists
}

// clientTTLs gives the TTLs of the clients that have one of their own.
func (p *Plan) clientTTLs() map[string]int64 {
	ttls := map[string]int64{}
	for _, c := range p.Clients {
		if !c.TTL.IsZero() {
			ttls[c.Name] = int64(c.TTL.In(p.TTL))
		}
	}
	return ttls
}
