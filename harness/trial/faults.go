package trial

import (
	"context"
	"time"

	"lockproof/harness/history"
	"lockproof/nemesis"
)

// apply does a fault, and takes note of the time that it took.
func (r *run) apply(ctx context.Context, f nemesis.Fault) ([]*nemesis.Active, error) {
	began := r.cluster.Now()
	begun, err := r.nemesis.Apply(ctx, f)
	r.charge(f, began, r.cluster.Now())
	return begun, err
}

// charge adds up how long nodes take to go down and to come back. Where the TTL has
// a part for that, and they take longer still, it is a stall: what the run was to
// show may have come too late.
func (r *run) charge(f nemesis.Fault, began, ended int64) {
	fault := nemesis.Find(string(f.Kind))
	restarts := fault.Does(history.NodeDown) || fault.Does(history.NodeUp)
	if r.plan.restarting == 0 || !restarts {
		return
	}
	r.mu.Lock()
	r.restarting += time.Duration(ended - began)
	spent := r.restarting
	r.mu.Unlock()
	if spent > r.plan.restarting {
		r.record(history.Event{Time: ended, Process: f.Targets[0], Type: history.TypeStall, Late: int64(spent)})
	}
}
