package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/local"
	"lockproof/harness/cluster/virtual"
	"lockproof/harness/cluster/virtual/bubble"
	"lockproof/scenarios"
)

// The kinds of clusters.
const (
	Virtual = "virtual"
	Local   = "local"
)

// Clusters lists the kinds of clusters, the default first.
var Clusters = []string{Virtual, Local}

// opener brings a cluster up, runs a plan on it, and takes it down.
type opener func(ctx context.Context, p *plan, t *Trial, j *journal) error

// opener gives the one for the cluster that o names, or says what it lacks.
func (o Options) opener() (opener, error) {
	if o.Cluster == Virtual {
		return o.openVirtual, nil
	}
	if err := local.Available(); err != nil {
		return nil, err
	}
	return o.openLocal, nil
}

// stallShare is how late, as a share of the TTL, a process may be before the
// run proves nothing: scenarios leave margins of a tenth of a TTL.
const stallShare = 10

func (o Options) config(p *plan, seed uint64, j *journal) cluster.Config {
	return cluster.Config{
		Nodes: p.Nodes, Clients: p.clientNames(), Aliases: p.Aliases, Persistence: p.Persistence, Seed: seed,
		Delay: p.Delay.In(p.TTL), StallLimit: p.TTL / stallShare, Record: j.record,
	}
}

// openVirtual runs in a bubble. Nothing in there may wait for ctx, which belongs
// to the world outside; a run is over in milliseconds.
func (o Options) openVirtual(ctx context.Context, p *plan, t *Trial, j *journal) error {
	var err error
	bubbleErr := bubble.Run(func() {
		cfg := o.config(p, t.Seed, j)
		c, openErr := virtual.New(cfg)
		if openErr != nil {
			err = openErr
			return
		}
		j.record(p.header(o, c.Server(), t.Trial, t.Seed, cfg.StallLimit))
		err = conduct(context.Background(), p, c, t.Seed, j.record)
		if closeErr := c.Close(); err == nil {
			err = closeErr
		}
	})
	if err == nil {
		err = bubbleErr
	}
	return err
}

func (o Options) openLocal(ctx context.Context, p *plan, t *Trial, j *journal) error {
	cfg := o.config(p, t.Seed, j)
	c, err := local.New(ctx, cfg, local.Options{})
	if err != nil {
		return err
	}
	j.record(p.header(o, c.Server(), t.Trial, t.Seed, cfg.StallLimit))
	err = conduct(ctx, p, c, t.Seed, j.record)
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	return err
}

// skip says why a plan cannot be run on a cluster, or "".
func (p *plan) skip(kind string) string {
	if !slices.Contains(p.On, kind) {
		return fmt.Sprintf("it is for %s", strings.Join(p.On, ", "))
	}
	for _, fault := range p.faults() {
		if err := supports(kind, fault); err != nil {
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
	case k.SingleNode && len(p.Nodes) > 1 && p.Job.Lock != "":
		return fmt.Sprintf("%s is a lock on one node, and this is a scenario of %d", k.Name, len(p.Nodes))
	case p.Store.Check == scenarios.CheckFence && !k.Fencing:
		return fmt.Sprintf("%s issues no fencing tokens, which this scenario's store checks", k.Name)
	case (uses(scenarios.VerbExtend) || uses(scenarios.VerbWatch)) && !k.Extends:
		return k.Name + " cannot extend a lease"
	case slices.Contains(p.faults(), "client-clock") && !k.OwnClock:
		return k.Name + " reads Go's own clock, which cannot be set for one client"
	}
	return ""
}

// faults names what the plan asks of a cluster.
func (p *plan) faults() []string {
	var names []string
	add := func(v scenarios.Verb, targets []string) {
		if v != scenarios.VerbClock {
			names = append(names, string(v))
			return
		}
		for _, t := range targets {
			if slices.Contains(p.Nodes, t) {
				names = append(names, "node-clock")
			} else {
				names = append(names, "client-clock")
			}
		}
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
	if kind == Virtual {
		return virtual.Supports(fault)
	}
	return local.Supports(fault)
}
