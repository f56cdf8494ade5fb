package trial

import (
	"slices"
	"time"

	"example.org/lockproof/checker"
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

// freeBoundMargin is what a waiting client may lose to round trips and scheduling,
// in TTLs, on top of what the bound is made of.
const freeBoundMargin = 0.25

// bounds are what the liveness properties promise: by default a lock is free
// again one TTL after its holder has gone, plus one retry. The time for which nodes
// are kept away is no part of it: while they are, the checker's clock stands still.
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
			*at += int64(p.waits())
		}
	}
	return b
}

// waits is for how long an experiment has goroutines of the lock wait.
func (p *Plan) waits() (all time.Duration) {
	if p.Job.Changes.Waits != nil {
		for _, w := range *p.Job.Changes.Waits {
			all += w.For
		}
	}
	return all
}

// cancelBound is how long an acquire may go on once its caller has given up: it may end the
// round that is under way, and give back what it has, on one node after the other, each
// for as long as a node is waited for. A lock that waits for all of them at once needs
// two node timeouts.
func (p *Plan) cancelBound() time.Duration {
	return p.TTL/2 + 2*time.Duration(len(p.Nodes))*p.options().NodeTimeout
}

// maxExtensions is how often a lease may be extended for its client to keep the lock within the tenure
// that the scenario allows: each extension is for a TTL at most. 0: it allows any.
func (p *Plan) maxExtensions() int {
	tenure, bounded := p.Bounds["tenure"]
	if !bounded {
		return 0
	}
	return max(1, int(tenure.In(p.TTL)/p.TTL)-1)
}

// earned is what must have happened for a "holds" to mean anything: somebody
// got the lock, somebody else wanted it at the same time, and the faults that
// the scenario speaks of met it.
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
