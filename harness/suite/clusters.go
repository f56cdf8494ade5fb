package suite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/kinds"
	"lockproof/harness/cluster/local"
	"lockproof/harness/cluster/virtual"
	"lockproof/harness/history"
	"lockproof/harness/locks"
	"lockproof/scenarios"
)

// Names of kinds of clusters that programs choose; package kinds lists them all.
const (
	Virtual = virtual.Name
	Local   = local.Name
)

// opener brings a cluster up, runs a plan on it, and takes it down.
type opener func(ctx context.Context, p *plan, t *Trial, j *journal) error

// opener gives the one for the cluster that o names, and what ends all that its
// clusters share; or it says what the cluster lacks.
func (o Options) opener(ctx context.Context) (open opener, done func() error, err error) {
	kind, err := kinds.Find(o.Cluster)
	if err != nil {
		return nil, nil, err
	}
	notices := o.Notices
	if notices == nil {
		notices = io.Discard
	}
	maker, err := kind.Open(ctx, cluster.Choice{Server: o.Server, Image: o.Image}, notices)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the run was interrupted before the cluster was ready: %w", ctx.Err()) // whatever else it broke
	}
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, p *plan, t *Trial, j *journal) error {
		return maker.Explain(carryOut(ctx, maker, p, t, j))
	}, maker.Close, nil
}

// stallLimit is how late a process may be before the run proves nothing. It is
// the lock's timeout for one node: whoever is held up for longer takes nodes for
// failed that are well.
func stallLimit(ttl time.Duration) time.Duration {
	return locks.Options{TTL: ttl}.WithDefaults().NodeTimeout
}

// config is what the plan asks of a cluster.
func (p *plan) config(seed uint64, record func(history.Event)) cluster.Config {
	return cluster.Config{
		Nodes: p.Nodes, Clients: p.clientNames(), Aliases: p.Aliases, Replicas: p.Replicas, Sentinels: p.Sentinels, Persistence: p.Persistence, Seed: seed,
		Settings: p.Redis, Supervised: p.Restart == scenarios.RestartAlways,
		Fillable: p.SmallDisks(), Delay: p.Delay.In(p.TTL), StallLimit: stallLimit(p.TTL), Record: record,
	}
}

// carryOut runs a plan on a cluster of its own.
func carryOut(ctx context.Context, maker cluster.Maker, p *plan, t *Trial, j *journal) error {
	if p.kind.RealTime() {
		return onCluster(ctx, maker, p, t, j)
	}
	var err error
	over := func() bool { return ctx.Err() != nil || j.tooMany() != nil }
	bubbleErr := p.kind.Bubble(func() {
		err = heed(over, func(inside context.Context) error { return onCluster(inside, maker, p, t, j) })
	})
	return cmp.Or(j.tooMany(), err, bubbleErr)
}

// glance is how often, in virtual time, a bubble looks at the world outside.
const glance = time.Second

// heed does something in a bubble on a context that ends when it is over for the
// world outside: nothing in the bubble may wait for that, but it can be asked.
func heed(over func() bool, do func(inside context.Context) error) error {
	inside, done := context.WithCancel(context.Background())
	defer done()
	go func() {
		tick := time.NewTicker(glance)
		defer tick.Stop()
		for !over() {
			select {
			case <-inside.Done():
				return
			case <-tick.C:
			}
		}
		done()
	}()
	return do(inside)
}

// onCluster brings a cluster up, runs a plan on it, and closes it.
func onCluster(ctx context.Context, maker cluster.Maker, p *plan, t *Trial, j *journal) error {
	cfg := p.config(t.Seed, j.record)
	c, err := maker.New(ctx, cfg)
	if err != nil {
		return err
	}
	t.Server = c.Server()
	j.record(p.header(t.Server, t.Trial, t.Seed, cfg.StallLimit))
	err = conduct(ctx, p, c, t.Seed, j.record)
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	return err
}

// skip says why a plan cannot be run on its cluster, or "".
func (p *plan) skip() string {
	for _, need := range append(p.setup(), p.Asks()...) {
		if err := p.kind.Can(need); err != nil {
			return err.Error()
		}
	}
	if !slices.Contains(p.On, p.kind.Name) {
		return fmt.Sprintf("it is for %s", strings.Join(p.On, ", "))
	}
	if p.kind.Fits != nil {
		if err := p.kind.Fits(p.Servers(), p.Sentinels); err != nil {
			return err.Error()
		}
	}
	return p.unfit()
}

// unfit says what the lock lacks for this scenario, or "".
func (p *plan) unfit() string {
	k := p.lock
	uses := func(v scenarios.Verb) bool {
		return slices.ContainsFunc(p.Script, func(s scenarios.Step) bool { return s.Verb == v })
	}
	switch {
	case len(p.without) > 0 && !k.Rules:
		return fmt.Sprintf("%s has no rules to switch off", k.Name)
	case k.SingleNode && len(p.Nodes) > 1 && p.Job.Lock != "":
		return fmt.Sprintf("%s is a lock on one node, and this is a scenario of %d", k.Name, len(p.Nodes))
	case p.Store.Check.Fenced() && !k.Fencing:
		return fmt.Sprintf("%s issues no fencing tokens, which this scenario's store checks", k.Name)
	case p.expect[history.Fencing] != "" && !k.Fencing:
		return fmt.Sprintf("%s issues no fencing tokens, which this scenario is about", k.Name)
	case (uses(scenarios.VerbExtend) || uses(scenarios.VerbWatch)) && !k.Extends:
		return k.Name + " cannot extend a lease"
	case uses(scenarios.VerbWatch) && !k.Watches:
		return k.Name + " has no watchdog"
	case slices.Contains(p.Asks(), "client-clock") && !k.OwnClock:
		return k.Name + " reads Go's own clock, which cannot be set for one client"
	}
	return ""
}

// setup names what the plan asks of a cluster's servers.
func (p *plan) setup() []string {
	names := slices.Sorted(maps.Keys(p.Redis))
	if p.Restart == scenarios.RestartAlways {
		names = append(names, "supervisor")
	}
	return names
}
