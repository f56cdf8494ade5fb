package trial

import (
	"context"
	"errors"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// apply does a fault, and takes note of the time that it took.
func (r *run) apply(ctx context.Context, f nemesis.Fault) ([]*nemesis.Active, error) {
	began := r.cluster.Now()
	begun, err := r.nemesis.Apply(ctx, f)
	r.chargeRestart(f, began, r.cluster.Now())
	return begun, err
}

// endFaults ends all faults when the changes say so, and with ctx those that a schedule
// would still begin. Its event is set before any other, and so is the first of its instant.
func (r *run) endFaults(ctx context.Context, end context.CancelFunc) error {
	until := r.plan.Job.Changes.FaultsUntil
	if until <= 0 {
		return nil
	}
	r.background.Go(func() {
		if r.cluster.Sleep(ctx, max(0, until-time.Duration(r.cluster.Now()))) != nil {
			return // the run was over before
		}
		r.faultsOver.Store(true)
		end()
		ctx := context.WithoutCancel(ctx)
		err := r.rest(ctx) // the schedule ends its own, in its order
		if err = errors.Join(err, r.nemesis.EndAll(ctx)); err != nil {
			r.fail(err)
		}
	})
	return r.rest(ctx)
}

// chargeRestart adds up how long nodes take to go down and to come back. Where the TTL has
// a part for that, and they take longer still, it is a stall: what the run was to
// show may have come too late.
func (r *run) chargeRestart(f nemesis.Fault, began, ended int64) {
	fault := nemesis.Find(string(f.Kind))
	restarts := fault.HasClass(history.NodeDown) || fault.HasClass(history.NodeUp)
	if r.plan.restartBudget == 0 || !restarts {
		return
	}
	r.mu.Lock()
	r.restarting += time.Duration(ended - began)
	spent := r.restarting
	r.mu.Unlock()
	if spent > r.plan.restartBudget {
		r.record(history.Event{Time: ended, Process: f.Targets[0], Type: history.TypeStall, Late: int64(spent)})
	}
}
