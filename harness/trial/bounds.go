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
	free := p.TTL + time.Duration(freeBoundMargin*float64(p.TTL)) + p.maxRetryDelay()
	b := history.Bounds{Free: int64(free), Grant: int64(p.TTL / 2), Release: int64(p.TTL / 2),
		Cancel: int64(p.cancelBound())}
	if s := p.Bounds.Free; !s.IsZero() {
		b.Free = int64(s.In(p.TTL))
	}
	if s := p.Bounds.Grant; !s.IsZero() {
		b.Grant = int64(s.In(p.TTL))
	}
	if s := p.Bounds.Release; !s.IsZero() {
		b.Release = int64(s.In(p.TTL))
	}
	if s := p.Bounds.Cancel; !s.IsZero() {
		b.Cancel = int64(s.In(p.TTL))
	}
	for _, bound := range []*int64{&b.Free, &b.Grant, &b.Release, &b.Cancel} {
		*bound += int64(p.waits())
	}
	b.Tenure = int64(p.Bounds.Tenure.In(p.TTL))
	return b
}

// waits is for how long an experiment has goroutines of the lock wait.
func (p *Plan) waits() (all time.Duration) {
	if p.Settings.Changes.Waits != nil {
		for _, w := range *p.Settings.Changes.Waits {
			all += w.For
		}
	}
	return all
}

func (p *Plan) maxRetryDelay() time.Duration {
	r := run{plan: p}
	return r.options().RetryMax
}

// cancelBound is how long an acquire may go on once its caller has given up: it may end the
// round that is under way, and give back what it has, on one node after the other, each
// for as long as a node is waited for. A lock that waits for all of them at once needs
// two node timeouts.
func (p *Plan) cancelBound() time.Duration {
	r := run{plan: p}
	return p.TTL/2 + 2*time.Duration(len(p.Nodes))*r.options().NodeTimeout
}

// maxExtensions is how often a lease may be extended for its client to keep the lock within the tenure
// that the scenario allows: each extension is for a TTL at most. 0: it allows any.
func (p *Plan) maxExtensions() int {
	if p.Bounds.Tenure.IsZero() {
		return 0
	}
	return max(1, int(p.Bounds.Tenure.In(p.TTL)/p.TTL)-1)
}
