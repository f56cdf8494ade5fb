package trial

import (
	"slices"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// Header is a trial's first event. server is the servers' name and version.
func (p *Plan) Header(server string, trial int, seed uint64) history.Event {
	h := history.Header{
		Version: history.Version, Scenario: p.Name, Variant: p.Job.Variant, AllowBetter: p.Job.AllowBetter,
		Cluster: p.Cluster.Name, Server: server, Seed: seed, Trial: trial, Lock: p.Lock.Name, Without: p.Without,
		BeliefText: p.Lock.Belief, TTL: int64(p.TTL), Nodes: p.Nodes, Quorum: p.quorum(),
		Clients: p.clientNames(), ConfiguredNodes: p.configuredNodes(), ClientTTLs: p.clientTTLs(), Replicas: p.Replicas,
		RealTime: p.Cluster.RealTime(), FencedStore: p.Store.Fenced(), Fencing: p.Lock.Fencing,
		Expect: p.Expect, Bounds: p.bounds(), Earned: p.earned(), StallLimit: int64(p.stallLimit()),
	}
	return history.Event{Process: "harness", Type: history.TypeHeader, Header: &h}
}

// quorum is the number of nodes that the lock declares to need for an acquire, 0 if it declares none.
func (p *Plan) quorum() int {
	switch {
	case p.Lock.External, p.RedisCluster != nil: // a Redis Cluster's clients are not nodes
		return 0
	case p.Lock.SingleNode:
		return 1
	case p.Lock.Majority:
		return len(p.Nodes)/2 + 1
	}
	return 0
}

// configuredNodes maps clients whose lock uses only some nodes to these, with the servers behind their aliases.
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

// clientTTLs lists the TTLs of the clients with their own.
func (p *Plan) clientTTLs() map[string]int64 {
	ttls := map[string]int64{}
	for _, c := range p.Clients {
		if !c.TTL.IsZero() {
			ttls[c.Name] = int64(c.TTL.In(p.TTL))
		}
	}
	return ttls
}

// freeBoundMargin is the part of the bound, in TTLs, for round trips and scheduling.
const freeBoundMargin = 0.25

// bounds are those of the liveness properties: by default a lock is free one TTL after its holder is gone, plus one
// retry. The checker does not count the time in which faults keep nodes away.
func (p *Plan) bounds() history.Bounds {
	free := p.TTL + time.Duration(freeBoundMargin*float64(p.TTL)) + p.options().RetryMax
	b := history.Bounds{Free: int64(free), Grant: int64(p.TTL / 2), Release: int64(p.TTL / 2),
		Cancel: int64(p.cancelBound())}
	for _, bound := range history.BoundNames {
		at := b.Find(bound)
		if own, is := p.Bounds[bound]; is {
			*at = int64(own.In(p.TTL))
		}
		if *at > 0 {
			*at += int64(p.totalWait())
		}
	}
	return b
}

// totalWait is the sum of the waits that an experiment injects into the lock's goroutines.
func (p *Plan) totalWait() (all time.Duration) {
	if p.Job.Waits != nil {
		for _, w := range *p.Job.Waits {
			all += w.For
		}
	}
	return all
}

// cancelBound bounds an acquire after its cancellation: it may finish the current round and then release, one node
// after the other, with a node timeout each. A lock that waits for all nodes at once needs two node timeouts.
func (p *Plan) cancelBound() time.Duration {
	return p.TTL/2 + 2*time.Duration(len(p.Nodes))*p.options().NodeTimeout
}

// maxExtensions is the number of extensions, each for a TTL at most, that fit into the scenario's bound "tenure"; 0:
// no bound.
func (p *Plan) maxExtensions() int {
	tenure, bounded := p.Bounds["tenure"]
	if !bounded {
		return 0
	}
	return max(1, int(tenure.In(p.TTL)/p.TTL)-1)
}

// earned is the minimum of events without which a "holds" is vacuous: a client acquired the lock, another tried to at
// the same time, and the scenario's faults affected it.
func (p *Plan) earned() history.Earned {
	e := history.Earned{Grants: 1}
	if len(p.clientNames()) > 1 {
		e.Contended = 1
	}
	if p.Breaks() {
		e.Faults = 1
	}
	for _, property := range checker.Properties() {
		if _, named := p.Expect[property.Name]; named {
			e.Writes = max(e.Writes, property.Writes)
		}
	}
	for _, set := range []struct {
		to   *int
		from *int
	}{
		{&e.Grants, p.Earned.Grants}, {&e.Contended, p.Earned.Contended}, {&e.Faults, p.Earned.Faults},
		{&e.Writes, p.Earned.Writes}, {&e.Refused, p.Earned.Refused},
	} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	return e
}
