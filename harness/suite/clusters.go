package suite

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker"
	"lockproof/harness/cluster/local"
	"lockproof/harness/cluster/virtual"
	"lockproof/harness/cluster/virtual/bubble"
	"lockproof/harness/history"
	"lockproof/harness/locks"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// The kinds of clusters.
const (
	Virtual = "virtual"
	Local   = "local"
	Docker  = "docker"
)

// Clusters lists the kinds of clusters, the default first.
var Clusters = []string{Virtual, Local, Docker}

// opener brings a cluster up, runs a plan on it, and takes it down.
type opener func(ctx context.Context, p *plan, t *Trial, j *journal) error

// opener gives the one for the cluster that o names, and what ends all that its
// clusters share; or it says what the cluster lacks.
func (o Options) opener(ctx context.Context) (open opener, done func() error, err error) {
	none := func() error { return nil }
	switch o.Cluster {
	case Virtual:
		return o.openVirtual, none, nil
	case Local:
		return o.openLocal, none, local.Available(o.Server)
	}
	notices := o.Notices
	if notices == nil {
		notices = io.Discard
	}
	projects, err := docker.Open(ctx, docker.Choice{Server: o.Server, Image: o.Image}, "", notices)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the run was interrupted before the cluster was ready: %w", ctx.Err()) // whatever else it broke
	}
	if err != nil {
		return nil, none, err
	}
	return o.openDocker(projects), projects.Close, nil
}

// stallLimit is how late a process may be before the run proves nothing. It is
// the lock's timeout for one node: whoever is held up for longer takes nodes for
// failed that are well.
func stallLimit(ttl time.Duration) time.Duration {
	return locks.Options{TTL: ttl}.WithDefaults().NodeTimeout
}

func (o Options) config(p *plan, seed uint64, j *journal) cluster.Config {
	return cluster.Config{
		Nodes: p.Nodes, Clients: p.clientNames(), Aliases: p.Aliases, Replicas: p.Replicas, Sentinels: p.Sentinels, Persistence: p.Persistence, Seed: seed,
		Settings: p.Redis, Supervised: p.Restart == scenarios.RestartAlways,
		Fillable: p.fillable(), Delay: p.Delay.In(p.TTL), StallLimit: stallLimit(p.TTL), Record: j.record,
	}
}

// fillable lists the servers whose disks the plan fills.
func (p *plan) fillable() []string {
	var names []string
	for _, s := range p.Script {
		if s.Verb == nemesis.FillDisk {
			names = append(names, s.Targets...)
		}
	}
	return names
}

// openVirtual runs in a bubble.
func (o Options) openVirtual(ctx context.Context, p *plan, t *Trial, j *journal) error {
	var err error
	bubbleErr := bubble.Run(func() {
		cfg := o.config(p, t.Seed, j)
		c, openErr := virtual.New(cfg)
		if openErr != nil {
			err = openErr
			return
		}
		t.Server = c.Server()
		j.record(p.header(o, t.Server, t.Trial, t.Seed, cfg.StallLimit))
		over := func() bool { return ctx.Err() != nil || j.tooMany() != nil }
		err = heed(over, func(inside context.Context) error { return conduct(inside, p, c, t.Seed, j.record) })
		if tooMany := j.tooMany(); tooMany != nil {
			err = tooMany
		}
		if closeErr := c.Close(); err == nil {
			err = closeErr
		}
	})
	if err == nil {
		err = bubbleErr
	}
	return err
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

func (o Options) openLocal(ctx context.Context, p *plan, t *Trial, j *journal) error {
	cfg := o.config(p, t.Seed, j)
	c, err := local.New(ctx, cfg, local.Options{RedisServer: o.Server})
	if err != nil {
		return err
	}
	return o.carryOut(ctx, p, t, j, c, cfg)
}

func (o Options) openDocker(projects *docker.Projects) opener {
	return func(ctx context.Context, p *plan, t *Trial, j *journal) error {
		cfg := o.config(p, t.Seed, j)
		c, err := docker.New(ctx, cfg, docker.Options{Projects: projects})
		if err != nil {
			return projects.Lost(err)
		}
		return projects.Lost(o.carryOut(ctx, p, t, j, c, cfg))
	}
}

// carryOut runs a plan on a cluster in real time, and closes it.
func (o Options) carryOut(ctx context.Context, p *plan, t *Trial, j *journal, c cluster.Cluster, cfg cluster.Config) error {
	t.Server = c.Server()
	j.record(p.header(o, t.Server, t.Trial, t.Seed, cfg.StallLimit))
	err := conduct(ctx, p, c, t.Seed, j.record)
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	return err
}

// skip says why a plan cannot be run on a cluster, or "".
func (p *plan) skip(kind string) string {
	for _, need := range append(p.setup(), p.faults()...) {
		if err := supports(kind, need); err != nil {
			return err.Error()
		}
	}
	if !slices.Contains(p.On, kind) {
		return fmt.Sprintf("it is for %s", strings.Join(p.On, ", "))
	}
	if kind == Docker {
		if err := docker.Fits(p.Servers(), p.Sentinels); err != nil {
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
	case slices.Contains(p.faults(), "client-clock") && !k.OwnClock:
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

// faults names what the plan asks of a cluster.
func (p *plan) faults() []string {
	var names []string
	add := func(v scenarios.Verb, targets []string) {
		if v != nemesis.Clock {
			names = append(names, string(v))
			return
		}
		for _, t := range targets {
			if slices.Contains(p.Servers(), t) {
				names = append(names, "node-clock")
			} else {
				names = append(names, "client-clock")
			}
		}
	}
	if len(p.Replicas) > 0 {
		names = append(names, "replicas")
	}
	if p.Sentinels > 0 {
		names = append(names, "sentinels")
	}
	for _, s := range p.Script {
		if slices.Contains(faultVerbs, s.Verb) {
			add(s.Verb, s.Targets)
		}
	}
	for _, n := range p.Nemesis {
		add(n.Fault, n.Among)
	}
	return names
}

// supports asks a kind of cluster whether it can do a fault.
func supports(kind, fault string) error {
	switch kind {
	case Virtual:
		return virtual.Supports(fault)
	case Docker:
		return docker.Supports(fault)
	}
	return local.Supports(fault)
}
