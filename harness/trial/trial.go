package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/locks"
)

// Observed is what a trial has shown beside its history.
type Observed struct {
	Server string            // what its servers are, with version
	Lock   *locks.Abilities  // what the lock can do, where it was for a lease to show; else nil
	Waits  []interleave.Wait // of goroutines at points of a library's source
}

// longestWait: at a point of a library's source a goroutine waits for at most this part of the TTL. Waits of a third
// of it break locks that have no race.
const longestWait = 16

// Run runs one trial of a plan, on a cluster of its own. The journal has the history when it returns, whole and with
// its last line unless an error is returned too. When ctx ends, what is under way
// is wound up, and the error is that of ctx.
func Run(
	ctx context.Context, p *Plan, maker cluster.Maker, number int, seed uint64, j *Journal,
) (observed Observed, err error) {
	var c cluster.Cluster
	record := p.withCallerKeys(j.Record)
	err = runInTime(ctx, p.Settings.On, j, func(ctx context.Context) error {
		if c, err = maker.New(ctx, p.clusterConfig(seed, record)); err != nil { // the servers and the network
			return err
		}
		observed.Server = c.Server()
		j.Record(p.Header(observed.Server, number, seed))
		host, ok := c.(client.Host)
		if !ok {
			return fmt.Errorf("the %s cluster has no clients", c.Kind())
		}
		r := newRun(p, host, seed, record)
		if interleave.BuiltIn() {
			interleave.Begin(seed, p.TTL/longestWait, p.Job.Changes.Waits)
		}
		r.inspectNodes(ctx) // into every node
		err = runSteps(ctx,
			r.warmUp,  // until the lock works as it does every day
			r.setUp,   // the clients, and whom they reach
			r.perform, // the script, beside the workload and the schedule of faults
		)
		err = errors.Join(r.notePrecondition(err), r.finish(ctx)) // faults end, clients too, and the nodes are looked into
		observed.Lock, observed.Waits = r.clients.lock, interleave.End()
		if err == nil {
			j.Record(history.Event{Time: c.Now(), Process: "harness", Type: history.TypeEnd})
		}
		return err
	}, func() error {
		if c == nil {
			return nil
		}
		err := c.Close()
		p.letEnd()
		return err
	})
	left, err := p.allowedToStay(err)
	if observed.Lock != nil && len(left) > 0 {
		observed.Lock.Notices = append(observed.Lock.Notices,
			"it leaves goroutines behind, which LeavesBehind allows: "+strings.Join(left, ", "))
	}
	return observed, maker.Explain(err)
}

// runSteps takes steps until one fails.
func runSteps(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Judge judges what a journal has recorded, once it has ended.
func Judge(j *Journal) ([]checker.Result, error) {
	j.setJudging(true)
	defer j.setJudging(false)
	source, err := j.source()
	if err != nil {
		return nil, err
	}
	verdict, err := checker.Judge(source)
	return verdict.Results, err
}
