package trial

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// Job is one row of a suite: a scenario or one of its variants, with a lock.
type Job struct {
	Scenario *scenarios.Scenario
	Variant  string
	// AllowBetter: the row is judged by the reference's expectations although it runs another lock or switches a rule
	// off.
	AllowBetter bool
	Lock        string   // "": the scenario's own
	Without     []string // rules to switch off, beside the variant's
	// Mapped is the scenario on more servers that Scenario was derived from; nil: Scenario is the original.
	Mapped *scenarios.Scenario `json:"-"`
	// Unfit says why the row has no form for the requested number of servers, "" if it has.
	Unfit string

	// The rest are an experiment's changes that a scenario cannot express.

	// FaultsUntil is the time at which all faults end; none begins later. 0: never.
	FaultsUntil time.Duration
	// SkipIdleSteps skips steps that can do nothing, since an experiment has left out a fault: the end of a fault that is
	// not in effect, and an operation on a lease that its client was never granted.
	SkipIdleSteps bool
	// ContextTimeouts and NoRetries configure the go-redis clients that a lock makes.
	ContextTimeouts, NoRetries bool
	// Belief replaces how long the clients of a Go test's lock rely on a lease.
	Belief string
	// Message is the message of an operation, counted from 1, at which a fault with EachMessage begins; 0: each in turn.
	Message int
	// Waits are injected into goroutines at points of a library's source; nil: the seed draws them.
	Waits *[]interleave.Wait
}

// Name is the row's name in tables.
func (j Job) Name() string { return RowName(j.Scenario.Name, j.Variant) }

// RowName is the name of the row of a scenario and its variant, "" for the scenario itself.
func RowName(scenario, variant string) string {
	if variant == "" {
		return scenario
	}
	return scenario + ", " + variant
}

// Plan is a job with a run's settings applied.
type Plan struct {
	*scenarios.Scenario // the job's, with its variant and the settings

	Job           Job
	Cluster       cluster.Kind
	Choice        cluster.Choice // of its servers
	Lock          locks.Kind
	Without       []string      // all rules that are off
	restartBudget time.Duration // the TTL's share for restarts; 0: none
}

// NewPlan applies a run's settings to a copy of the job's scenario: the cluster, its servers, and the TTL, 0 for the
// scenario's own. It fails on an unknown variant or lock.
func NewPlan(job Job, on cluster.Kind, choice cluster.Choice, ttl time.Duration) (*Plan, error) {
	v, err := job.Scenario.Find(job.Variant)
	if err != nil {
		return nil, err
	}
	s := job.Scenario.With(v)
	var longer, restarting time.Duration
	if ttl > 0 {
		s.TTL = ttl
	} else {
		longer, restarting = restartTTL(s, on.Restart)
		s.TTL += longer
	}
	if job.Lock != "" {
		s.Lock.Name = job.Lock
	}
	if s.Lock.Name == "" {
		s.Lock.Name = locks.Reference
	}
	lock, err := locks.Find(s.Lock.Name)
	if err = cmp.Or(err, lock.Err); err != nil {
		return nil, err
	}
	s.Script = slices.DeleteFunc(slices.Clone(s.Script), func(step scenarios.Step) bool {
		return step.IfSupported && !lock.Extends
	})
	return &Plan{Scenario: s, Job: job, Cluster: on, Choice: choice, Lock: lock,
		Without: slices.Concat(v.Without, job.Without), restartBudget: restarting}, nil
}

// stallLimit bounds the lateness of a process in a run that proves something. It is the lock's node timeout: a client
// that is later takes healthy nodes for failed. A scenario with a longer node timeout raises it at most to the limit
// at a TTL of a second.
func (p *Plan) stallLimit() time.Duration {
	usual := func(ttl time.Duration) time.Duration { return locks.Options{TTL: ttl}.WithDefaults().NodeTimeout }
	return max(usual(p.TTL), min(p.Scenario.Lock.NodeTimeout.In(p.TTL), usual(time.Second)))
}

// options are the lock's for a client without its own.
func (p *Plan) options() locks.Options {
	o := p.Scenario.Lock.Options(p.TTL)
	o.Without, o.MaxExtensions = p.Without, cmp.Or(o.MaxExtensions, p.maxExtensions())
	for _, c := range p.Clients {
		if !c.TTL.IsZero() {
			o.MaxTTL = max(o.MaxTTL, o.TTL, c.TTL.In(p.TTL))
		}
	}
	o.ContextTimeouts, o.NoRetries, o.Belief = p.Job.ContextTimeouts, p.Job.NoRetries, p.Job.Belief
	if o.NoRetries {
		o.Resends = 0
	}
	return o.WithDefaults()
}

// clusterConfig is the cluster that the plan needs.
func (p *Plan) clusterConfig(seed uint64, record func(history.Event)) cluster.Config {
	return cluster.Config{
		Nodes: p.Nodes, Clients: p.clientNames(), Aliases: p.Aliases, Replicas: p.Replicas,
		Sentinels: p.Sentinels, RedisCluster: p.RedisCluster != nil, Persistence: p.Persistence, Seed: seed,
		Commands: p.commands(), Settings: p.Redis, Supervised: p.Restart == scenarios.RestartAlways,
		Delay: p.Delay.In(p.TTL), StallLimit: p.stallLimit(), Record: record,
	}
}

// clientNames lists the clients of the script, then those of the workload.
func (p *Plan) clientNames() []string {
	var names []string
	for _, c := range p.Clients {
		names = append(names, c.Name)
	}
	if p.Workload != nil {
		names = append(names, workloadClients(p.Workload)...)
	}
	return names
}

func workloadClients(w *scenarios.Workload) []string {
	names := make([]string, w.Clients)
	for i := range names {
		names[i] = fmt.Sprintf("w%d", i+1)
	}
	return names
}
