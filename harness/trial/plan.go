package trial

import (
	"cmp"
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// Job is one row of a suite: a scenario as it stands or one of its variants, and with which lock.
type Job struct {
	Scenario *scenarios.Scenario
	Variant  string
	// AllowBetter: the row is judged against the reference's expectations although
	// it runs another lock or does without a rule.
	AllowBetter bool
	Lock        string   // "": the scenario's own
	Without     []string // rules to do without, beside the variant's
	// Mapped is the scenario on more servers that Scenario was made of; nil: Scenario is as it stands.
	Mapped *scenarios.Scenario `json:"-"`
	// Unfit says why the row has no form on as many servers as were asked for, "" if it has.
	Unfit string
	// Changes are an experiment's.
	Changes Changes
}

// Name is how tables call the row.
func (j Job) Name() string { return RowName(j.Scenario.Name, j.Variant) }

// RowName is that of the row of a scenario and its variant, "" of the scenario as it stands.
func RowName(scenario, variant string) string {
	if variant == "" {
		return scenario
	}
	return scenario + ", " + variant
}

// Settings are on what a trial runs.
type Settings struct {
	On     cluster.Kind   `json:"-"`
	Choice cluster.Choice // of its servers
	TTL    time.Duration  // 0: the scenario's own
}

// Changes are what an experiment changes that no scenario says.
type Changes struct {
	// FaultsUntil is when all faults end, and from when on none begins; 0: never.
	FaultsUntil time.Duration `json:"faults_until,omitempty"`
	// ContextTimeouts and NoRetries are settings of the clients that a lock makes.
	ContextTimeouts bool `json:"context_timeouts,omitempty"`
	NoRetries       bool `json:"no_retries,omitempty"`
	// Waits are those of goroutines at points of a library's source; nil: as the seed draws them.
	Waits *[]interleave.Wait `json:"waits,omitempty"`
}

// Plan is a job with everything settled: its variant and the settings are applied to its scenario. Its JSON is for
// another process, which Resolves it.
type Plan struct {
	*scenarios.Scenario `json:"-"` // the job's

	Job           Job
	Settings      Settings
	Lock          locks.Kind    `json:"-"`
	Without       []string      // all rules that are off
	restartBudget time.Duration // how much of the TTL is for restarts; 0: there is no such part
}

// NewPlan applies settings to a job, whose scenario stays as it is. It fails on a
// variant or a lock that does not exist.
func NewPlan(job Job, settings Settings) (*Plan, error) {
	v, err := job.Scenario.Find(job.Variant)
	if err != nil {
		return nil, err
	}
	s := job.Scenario.With(v)
	if settings.TTL > 0 {
		s.TTL = settings.TTL
	}
	var longer, restarting time.Duration
	if settings.TTL == 0 {
		longer, restarting = restartTTL(s, settings.On.Restart)
		s.TTL += longer
	}
	if job.Lock != "" {
		s.Lock.Name = job.Lock
	}
	if s.Lock.Name == "" {
		s.Lock.Name = locks.Reference
	}
	job.Scenario = s
	p := &Plan{Job: job, Settings: settings, restartBudget: restarting}
	p.Without = append(append([]string(nil), v.Without...), job.Without...)
	return p, p.Resolve(settings.On)
}

// Resolve finds in this process what the plan names: its lock; and its kind of cluster is given.
func (p *Plan) Resolve(on cluster.Kind) (err error) {
	p.Scenario, p.Settings.On = p.Job.Scenario, on
	if p.Lock, err = locks.Find(p.Scenario.Lock.Name); err != nil {
		return err
	}
	return p.Lock.Err
}

// stallLimit is how late a process may be before the run proves nothing. It is
// the lock's timeout for one node: whoever is held up for longer takes nodes for
// fail that are well. A scenario that gives its lock more time makes it no longer
// than the limit at a TTL of a second.
func (p *Plan) stallLimit() time.Duration {
	usual := func(ttl time.Duration) time.Duration { return locks.Options{TTL: ttl}.WithDefaults().NodeTimeout }
	return max(usual(p.TTL), min(p.Scenario.Lock.NodeTimeout.In(p.TTL), usual(time.Second)))
}

// options are the lock's, of a client that has none of its own.
func (p *Plan) options() locks.Options {
	o := p.Scenario.Lock.Options(p.TTL)
	o.Without, o.MaxExtensions = p.Without, cmp.Or(o.MaxExtensions, p.maxExtensions())
	for _, c := range p.Clients {
		if !c.TTL.IsZero() {
			o.MaxTTL = max(o.MaxTTL, o.TTL, c.TTL.In(p.TTL))
		}
	}
	o.ContextTimeouts, o.NoRetries = p.Job.Changes.ContextTimeouts, p.Job.Changes.NoRetries
	if o.NoRetries {
		o.Resends = 0
	}
	return o.WithDefaults()
}

// clusterConfig is what the plan asks of a cluster.
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

// workloadClients names the clients of a workload.
func workloadClients(w *scenarios.Workload) []string {
	names := make([]string, w.Clients)
	for i := range names {
		names[i] = fmt.Sprintf("w%d", i+1)
	}
	return names
}
