package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/harness/locks"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// run is one run of a plan on a cluster.
type run struct {
	plan    *Plan
	cluster cluster.Cluster
	clients *clientGroup
	nemesis *nemesis.Nemesis
	record  func(history.Event)
	seed    uint64

	pending    map[string][]pending
	unreached  map[string]*nemesis.Active
	before     map[string][2]int
	background sync.WaitGroup
	laters     time.Duration // how many things there were to do later; the script's goroutine only

	mu         sync.Mutex
	first      error         // of what went on in the background
	restarting time.Duration // how long nodes have taken to go down and come back
}

// in gives a span's duration at the run's TTL.
func (r *run) in(s scenarios.Span) time.Duration { return s.In(r.plan.TTL) }

func (r *run) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = err
	}
}

func newRun(p *Plan, c cluster.Cluster, seed uint64, record func(history.Event)) *run {
	r := &run{
		plan: p, cluster: c, record: record, seed: seed, clients: newClientGroup(c, record),
		pending: map[string][]pending{}, unreached: map[string]*nemesis.Active{}, before: map[string][2]int{},
	}
	r.nemesis = nemesis.New(c, r.clients, p.clientNames(), record)
	return r
}

// unmet notes that a step did not come out as the scenario needs it, and gives any
// other error back, but for that of waiting for a client that has failed: windUp says
// how it did.
func (r *run) unmet(err error) error {
	if errors.Is(err, errClientFailed) {
		return nil
	}
	if !errors.Is(err, errUnmet) {
		return err
	}
	r.record(history.Event{Time: r.cluster.Now(), Process: "harness", Type: history.TypeNote,
		Reason: history.ReasonUnmet, Text: err.Error()})
	return nil
}

// setUp starts the clients and lays out who reaches whom.
func (r *run) setUp(ctx context.Context) error {
	for i, name := range r.plan.clientNames() {
		if err := r.clients.start(ctx, r.setup(i, name)); err != nil {
			return err
		}
	}
	for _, c := range r.plan.Clients {
		if len(c.Reach) > 0 {
			if err := r.reach(ctx, c.Name, c.Reach); err != nil {
				return err
			}
		}
		for _, node := range c.Far {
			far := nemesis.Fault{Kind: nemesis.Delay, Targets: []string{c.Name + "-" + node}, By: r.in(c.FarDelay), Setting: true}
			if _, err := r.nemesis.Apply(ctx, far); err != nil {
				return err
			}
		}
	}
	return nil
}

// setup is what a client is told at its start.
func (r *run) setup(index int, name string) client.Setup {
	s := client.Setup{
		Name: name, Index: index, Lock: r.plan.Lock.Name, Options: r.options(),
		Nodes: r.plan.Nodes, FencedStore: r.plan.Store.Check.Fenced(),
		ReadsUnfenced: r.plan.Store.Check == scenarios.CheckFenceWrites,
		CompareStore:  r.plan.Store.Check == scenarios.CheckCompare,
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
				s.Options.TTL = r.in(c.TTL)
			}
		}
	}
	return s
}

// settle waits until the lock works as it does every day.
func (r *run) settle(ctx context.Context) error {
	if r.plan.Lock.Settled == nil {
		return nil
	}
	return r.cluster.Sleep(ctx, r.plan.Lock.Settled(r.options()))
}

// options are the lock's.
func (r *run) options() locks.Options {
	l := r.plan.Scenario.Lock
	o := locks.Options{
		TTL: r.plan.TTL, NodeTimeout: r.in(l.NodeTimeout), Tries: l.Tries, RetryMin: r.in(l.RetryMin), RetryMax: r.in(l.RetryMax),
		MaxExtensions: l.MaxExtensions, Resends: l.Resends, Pool: l.Pool, Wait: l.Wait, WaitAOF: l.WaitAOF, Connection: l.Connection, Without: r.plan.Without,
	}
	for _, c := range r.plan.Clients {
		if !c.TTL.IsZero() {
			o.LongestTTL = max(o.LongestTTL, o.TTL, r.in(c.TTL))
		}
	}
	if l.Drift != nil {
		o.Drift = *l.Drift
	}
	return o.WithDefaults()
}

// perform plays the script beside the workload and the schedule of faults.
func (r *run) perform(ctx context.Context) error {
	w := r.plan.Workload
	if w == nil {
		return r.play(ctx)
	}
	loop := &client.Loop{Hold: r.in(w.Hold), Think: r.in(w.Think)}
	for i := range w.Keys {
		loop.Keys = append(loop.Keys, fmt.Sprintf("k%d", i+1))
	}
	began := r.cluster.Now()
	for thread := range w.Threads {
		if thread > 0 { // those of one client draw from its lock's source in turn
			if err := r.cluster.Sleep(ctx, between); err != nil {
				return err
			}
		}
		for _, name := range workers(w) {
			done, err := r.clients.send(name, client.Command{Do: client.DoLoop, Loop: loop, Thread: threadName(thread)})
			if err != nil {
				return err
			}
			r.pending[name] = append(r.pending[name], pending{done: done, step: scenarios.Step{Verb: "loop"}})
		}
	}
	until := r.in(w.For)
	if len(r.plan.Nemesis) > 0 {
		r.background.Go(func() {
			if err := r.nemesis.Run(ctx, nemesis.Schedule(r.seed, r.randoms(), until)); err != nil {
				r.failed(err)
			}
		})
	}
	if err := r.play(ctx); err != nil {
		return err
	}
	return r.cluster.Sleep(ctx, until-time.Duration(r.cluster.Now()-began))
}

// threadName names the threads of a workload's client: the first has no name.
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
			Fault: nemesis.Fault{Kind: nemesis.Kind(n.Fault), Direction: n.Direction, By: r.in(n.By), Jump: r.in(n.Jump), Rate: n.Rate},
			Among: n.Among, Count: n.Count,
			EveryMin: r.in(n.Every.Min), EveryMax: r.in(n.Every.Max), ForMin: r.in(n.For.Min), ForMax: r.in(n.For.Max),
		})
	}
	return list
}

// windUp lets what is under way come to its end: loops stop, faults are undone,
// operations return, and the store and the nodes are looked into one last time.
func (r *run) windUp(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	r.background.Wait()
	err := r.nemesis.EndAll(ctx)
	for _, name := range r.plan.clientNames() {
		if len(r.pending[name]) == 0 {
			continue
		}
		if _, stopErr := r.clients.send(name, client.Command{Do: client.DoStop}); stopErr != nil {
			r.pending[name] = nil // killed: it will not answer
			continue
		}
		err = errors.Join(err, r.unmet(r.await(ctx, name, "")))
	}
	err = errors.Join(err, r.readRegisters(ctx))
	r.look(ctx)
	r.mu.Lock()
	err = errors.Join(err, r.first)
	r.mu.Unlock()
	return errors.Join(err, r.clients.failure(), r.clients.close())
}

// look records the state of every node.
func (r *run) look(ctx context.Context) {
	for _, name := range r.plan.Servers() {
		if seen, err := r.cluster.Node(name).Look(ctx); err == nil {
			r.saw(name, seen)
		}
	}
}
