package trial

import (
	"time"

	"example.org/lockproof/harness/history"
)

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
