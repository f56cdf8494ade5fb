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

// Observed is a trial's result beside its history.
type Observed struct {
	Server string            // the servers' name and version
	Lock   *locks.Abilities  // those that a lease showed; nil if none did
	Waits  []interleave.Wait // injected at points of a library's source
	// PastLastMessage: the interrupted operation has fewer messages than Job.Message. The trial shows nothing.
	PastLastMessage bool
}

// longestWait is the divisor of the TTL that bounds a wait at a point of a library's source. Waits of a third of the
// TTL break locks without a race.
const longestWait = 16

// Run runs one trial of a plan on its own cluster. Then the journal has the history, complete with its last line
// unless Run returns an error. When ctx ends, the trial stops early with ctx's error.
func Run(
	ctx context.Context, p *Plan, maker cluster.Maker, number int, seed uint64, j *Journal,
) (observed Observed, err error) {
	var c cluster.Cluster
	hung := false
	record := p.withCallerKeys(j.Record)
	err = runInTime(ctx, p.Cluster, j, func(ctx context.Context) error {
		if c, err = maker.New(ctx, p.clusterConfig(seed, record)); err != nil { // the servers and the network
			return err
		}
		observed.Server = c.Server()
		j.Record(p.Header(observed.Server, number, seed))
		host, ok := c.(client.Host)
		if !ok {
			return fmt.Errorf("the %s cluster cannot start clients: its type does not implement client.Host", c.Kind())
		}
		r := newRun(p, host, seed, record)
		if interleave.BuiltIn() {
			interleave.Begin(seed, p.TTL/longestWait, p.Job.Waits)
		}
		r.inspectNodes(ctx)
		err = runSteps(ctx,
			r.warmUp,  // of the lock
			r.setUp,   // clients and links
			r.perform, // the script, beside the workload and the schedule of faults
		)
		err = errors.Join(r.notePrecondition(err), r.finish(ctx)) // ends faults and clients, and reads the nodes
		observed.Lock, observed.Waits = r.clients.lock, interleave.End()
		observed.PastLastMessage, hung = r.pastLastMessage, r.clients.hung
		if err == nil {
			j.Record(history.Event{Time: c.Now(), Process: "harness", Type: history.TypeEnd})
		}
		return err
	}, func() error {
		if c == nil {
			return nil
		}
		err := c.Close()
		p.awaitGoroutines()
		return err
	})
	left, err := p.allowLeaks(err, hung)
	if observed.Lock != nil && len(left) > 0 {
		observed.Lock.Notices = append(observed.Lock.Notices,
			"it leaves goroutines behind, which LeavesBehind allows: "+strings.Join(left, ", "))
	}
	return observed, maker.Explain(err)
}

// runSteps runs steps until one fails.
func runSteps(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Judge judges a journal's events, after its End.
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
