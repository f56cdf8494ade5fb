package trial

import (
	"context"
	"errors"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// apply applies a fault and charges a restart's time.
func (r *run) apply(ctx context.Context, f nemesis.Fault) ([]*nemesis.Active, error) {
	began := r.cluster.Now()
	begun, err := r.nemesis.Apply(ctx, f)
	r.chargeRestart(f, began, r.cluster.Now())
	return begun, err
}

// endFaults ends all faults at Job.FaultsUntil and cancels ctx, so that a schedule starts no more. It sets its
// timer before all others, so it is the first at its instant.
func (r *run) endFaults(ctx context.Context, end context.CancelFunc) error {
	until := r.plan.Job.FaultsUntil
	if until <= 0 {
		return nil
	}
	r.background.Go(func() error {
		if r.cluster.Sleep(ctx, max(0, until-time.Duration(r.cluster.Now()))) != nil {
			return nil // the run ended first
		}
		r.faultsOver.Store(true)
		end()
		ctx := context.WithoutCancel(ctx)
		err := r.nextInstant(ctx) // the schedule ends its own faults first, in its order
		return errors.Join(err, r.nemesis.EndAll(ctx))
	})
	return r.nextInstant(ctx)
}

// chargeRestart adds up the time for which nodes go down and come back. If it exceeds the TTL's share for restarts, it
// records a stall: later steps may be too late to show anything.
func (r *run) chargeRestart(f nemesis.Fault, began, ended int64) {
	fault := nemesis.Find(f.Kind)
	restarts := fault.HasClass(history.NodeDown) || fault.HasClass(history.NodeUp)
	if r.plan.restartBudget == 0 || !restarts {
		return
	}
	if spent := r.restarting.Add(ended - began); spent > int64(r.plan.restartBudget) {
		r.record(history.Event{Time: ended, Process: f.Targets[0], Type: history.TypeStall, Late: spent})
	}
}
