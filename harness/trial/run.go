package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

type run struct {
	plan    *Plan
	cluster cluster.Cluster
	clients *clientGroup
	nemesis *nemesis.Nemesis
	record  func(history.Event)
	seed    uint64

	pending    map[string][]pending
	cuts       map[string]*nemesis.Active
	linkCounts map[string][2]int
	faultsOver atomic.Bool // none may begin
	background errgroup.Group
	restarting atomic.Int64 // total time of nodes' stops and restarts, in nanoseconds

	armed           map[string]scenarios.Step // by client: a fault that begins in its next operation
	pastLastMessage bool                      // that operation has fewer messages than the trial's
}

// duration is a span's duration at the run's TTL.
func (r *run) duration(s scenarios.Span) time.Duration { return s.In(r.plan.TTL) }

func newRun(p *Plan, c client.Host, seed uint64, record func(history.Event)) *run {
	r := &run{
		plan: p, cluster: c, record: record, seed: seed, clients: newClientGroup(c, record),
		pending: map[string][]pending{}, cuts: map[string]*nemesis.Active{}, linkCounts: map[string][2]int{},
		armed: map[string]scenarios.Step{},
	}
	r.nemesis = nemesis.New(c, r.clients, p.clientNames(), record)
	return r
}

// notePrecondition records a failed precondition and returns any other error, except errClientFailed: finish returns
// the client's own.
func (r *run) notePrecondition(err error) error {
	if errors.Is(err, errClientFailed) {
		return nil
	}
	unmet, is := errors.AsType[preconditionError](err)
	if !is {
		return err
	}
	r.record(history.Event{Time: r.cluster.Now(), Process: "harness", Type: history.TypeNote,
		Reason: history.ReasonPreconditionFailed, Text: string(unmet)})
	return nil
}

// setUp starts the clients and sets up their links.
func (r *run) setUp(ctx context.Context) error {
	for i, name := range r.plan.clientNames() {
		if err := r.clients.start(ctx, r.clientSetup(i, name)); err != nil {
			return err
		}
	}
	for _, c := range r.plan.Clients {
		if len(c.Reach) > 0 {
			if err := r.reach(ctx, c.Name, c.Reach); err != nil {
				return err
			}
		}
		for _, node := range c.FarNodes {
			link := history.Link{From: c.Name, To: node}
			far := nemesis.Fault{Kind: nemesis.Delay, Targets: []string{link.Target()}, Delay: r.duration(c.FarDelay),
				Background: true}
			if _, err := r.nemesis.Apply(ctx, far); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) clientSetup(index int, name string) client.Setup {
	s := client.Setup{
		Name: name, Index: index, Lock: r.plan.Lock.Name, Options: r.plan.options(),
		Nodes: r.plan.Nodes, FencedStore: r.plan.Store.Fenced(),
		ReadsUnfenced: r.plan.Store == scenarios.CheckFenceWrites,
		CompareStore:  r.plan.Store == scenarios.CheckCompare,
		Renews:        r.plan.Lock.Renews,
	}
	if c := r.plan.RedisCluster; c != nil {
		s.ClusterClients, s.TaggedKeys = c.Clients, c.Keys == scenarios.KeysTagged
	}
	s.Sentinels = cluster.Config{Sentinels: r.plan.Sentinels}.SentinelNames()
	for _, c := range r.plan.Clients {
		if c.Name == name {
			if len(c.Nodes) > 0 {
				s.Nodes, s.Sentinels = c.Nodes, nil
			}
			if c.Wait != nil {
				s.Options.Wait = *c.Wait
			}
			if !c.TTL.IsZero() {
				s.Options.TTL = r.duration(c.TTL)
			}
			s.KeyPrefix = c.KeyPrefix
		}
	}
	return s
}

// warmUp waits for the lock's warm-up.
func (r *run) warmUp(ctx context.Context) error {
	if r.plan.Lock.WarmUp == nil {
		return nil
	}
	return r.cluster.Sleep(ctx, r.plan.Lock.WarmUp(r.plan.options()))
}

// perform runs the script beside the workload and the schedule of faults.
func (r *run) perform(ctx context.Context) error {
	faulty, end := context.WithCancel(ctx)
	defer end()
	if err := r.endFaults(faulty, end); err != nil {
		return err
	}
	w := r.plan.Workload
	if w == nil {
		return r.runScript(ctx)
	}
	loop := &client.Loop{Hold: r.duration(w.Hold), Think: r.duration(w.Think)}
	for i := range w.Keys {
		loop.Keys = append(loop.Keys, fmt.Sprintf("k%d", i+1))
	}
	began := r.cluster.Now()
	for thread := range w.Threads {
		if thread > 0 { // the threads of a client share its lock's random source: start them in a fixed order
			if err := r.nextInstant(ctx); err != nil {
				return err
			}
		}
		for _, name := range workloadClients(w) {
			done, err := r.clients.send(name, client.Command{Do: client.DoLoop, Loop: loop, Thread: threadName(thread)})
			if err != nil {
				return err
			}
			r.pending[name] = append(r.pending[name], pending{done: done, step: scenarios.Step{Verb: "loop"}})
		}
	}
	until := r.duration(w.For)
	if len(r.plan.Nemesis) > 0 {
		r.background.Go(func() error {
			err := r.nemesis.Run(faulty, nemesis.Schedule(r.seed, r.randoms(), until))
			if faulty.Err() != nil && ctx.Err() == nil {
				return nil // endFaults ended it
			}
			return err
		})
	}
	if err := r.runScript(ctx); err != nil {
		return err
	}
	return r.cluster.Sleep(ctx, until-time.Duration(r.cluster.Now()-began))
}

// threadName is "" for a client's first thread.
func threadName(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("t%d", i+1)
}

// randoms are the scenario's random faults with durations at the run's TTL.
func (r *run) randoms() []nemesis.Random {
	var list []nemesis.Random
	for _, n := range r.plan.Nemesis {
		list = append(list, nemesis.Random{
			Fault: faultOf(n.Step, r.duration), Count: n.Count,
			IntervalMin: r.duration(n.Every.Min), IntervalMax: r.duration(n.Every.Max),
			DurationMin: r.duration(n.Lasts.Min), DurationMax: r.duration(n.Lasts.Max),
		})
	}
	return list
}

// finish ends the run: faults end, loops stop, operations return, and the harness reads the store and the nodes one
// last time.
func (r *run) finish(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := errors.Join(r.background.Wait(), r.nemesis.EndAll(ctx))
	for _, name := range r.plan.clientNames() {
		if len(r.pending[name]) == 0 {
			continue
		}
		if _, stopErr := r.clients.send(name, client.Command{Do: client.DoStop}); stopErr != nil {
			r.pending[name] = nil // killed: it will not answer
			continue
		}
		err = errors.Join(err, r.notePrecondition(r.await(ctx, name, "")))
	}
	err = errors.Join(err, r.readRegisters(ctx))
	r.inspectNodes(ctx)
	return errors.Join(err, r.clients.firstFailure(), r.clients.close())
}

// readRegisters reads each written register at the end, directly from the store. No client may have read a write whose
// reply was lost.
func (r *run) readRegisters(ctx context.Context) error {
	r.clients.mu.Lock()
	keys := slices.Sorted(maps.Keys(r.clients.writtenKeys))
	r.clients.mu.Unlock()
	if len(keys) == 0 {
		return nil
	}
	began := r.cluster.Now()
	store, err := r.cluster.Node(history.StoreName).Look(ctx)
	if err == nil && !store.Up {
		err = errors.New("it is down")
	}
	if err != nil {
		return fmt.Errorf("reading the registers at the store at the end: %w", err)
	}
	for i, key := range keys {
		read := history.Event{Time: began, Process: "harness", Type: history.TypeInvoke, Op: history.OpRead, ID: i + 1,
			Key: key}
		r.record(read)
		read.Time, read.Type, read.Value = r.cluster.Now(), history.TypeOK, store.Keys[client.Register(key)].Token
		r.record(read)
	}
	return nil
}

func (r *run) inspectNodes(ctx context.Context) {
	for _, name := range r.plan.Servers() {
		_, _ = r.nemesis.Inspect(ctx, name) // without a look if the node cannot be read
	}
}
