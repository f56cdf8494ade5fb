package suite

import (
	"time"

	"lockproof/harness/history"
)

// freeMargin is what a waiting client may lose to round trips and scheduling,
// in TTLs, on top of what the bound is made of.
const freeMargin = 0.25

// header is a run's first event.
func (p *plan) header(server string, trial int, seed uint64, stallLimit time.Duration) history.Event {
	h := history.Header{
		Version: history.Version, Scenario: p.Name, Variant: p.Job.Variant, Lenient: p.Job.Lenient, Cluster: p.kind.Name, Server: server,
		Seed: seed, Trial: trial, Lock: p.lock.Name, Without: p.without, TTL: int64(p.TTL), Nodes: p.Nodes,
		Clients: p.clientNames(), Replicas: p.Replicas, RealTime: p.kind.RealTime(),
		FencedStore: p.Store.Check.Fenced(), Fencing: p.lock.Fencing,
		Expect: p.expect, Bounds: p.bounds(), Earned: p.earned(), StallLimit: int64(stallLimit),
	}
	return history.Event{Process: "harness", Type: history.TypeHeader, Header: &h}
}

// bounds are what the liveness properties promise: by default a lock is free
// again one TTL after its holder has gone, plus the longest time for which a
// node was kept away on purpose, plus one retry.
func (p *plan) bounds() history.Bounds {
	free := p.TTL + time.Duration(freeMargin*float64(p.TTL))
	var longest time.Duration
	for _, s := range p.Script {
		longest = max(longest, s.After.In(p.TTL))
	}
	free += longest + p.retry()
	b := history.Bounds{Free: int64(free), Grant: int64(p.TTL / 2)}
	if s := p.Bounds.Free; !s.IsZero() {
		b.Free = int64(s.In(p.TTL))
	}
	if s := p.Bounds.Grant; !s.IsZero() {
		b.Grant = int64(s.In(p.TTL))
	}
	b.Tenure = int64(p.Bounds.Tenure.In(p.TTL))
	return b
}

func (p *plan) retry() time.Duration {
	r := run{plan: p}
	return r.options().RetryMax
}

// earned is what must have happened for a "holds" to mean anything: somebody
// got the lock, somebody else wanted it at the same time, and the faults that
// the scenario speaks of met it.
func (p *plan) earned() history.Earned {
	e := history.Earned{Grants: 1}
	if len(p.clientNames()) > 1 {
		e.Contended = 1
	}
	if p.Breaks() {
		e.Faults = 1
	}
	if _, ok := p.expect[history.ProtectedData]; ok {
		e.Writes = 2
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
