package suite

import (
	"fmt"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/kinds"
	"lockproof/harness/locks"
	"lockproof/redlock"
	"lockproof/scenarios"
)

// Job is one row of a suite: a scenario as it stands or one of its variants.
type Job struct {
	Scenario *scenarios.Scenario
	Variant  string
	// Lenient: the row is judged against the reference's expectations although
	// it runs another lock or does without a rule.
	Lenient bool
	Lock    string   // "": the scenario's own
	Without []string // rules to do without, beside the variant's
}

// Name is how tables call the row.
func (j Job) Name() string { return rowName(j.Scenario.Name, j.Variant) }

func rowName(scenario, variant string) string {
	if variant == "" {
		return scenario
	}
	return scenario + ", " + variant
}

// Jobs lists the rows that are to be run: every scenario with all its variants;
// or, when another lock or fewer rules are asked for, every scenario as it
// stands with these. It fails on a lock or a rule that does not exist.
func (o Options) Jobs(list []*scenarios.Scenario) ([]Job, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	var jobs []Job
	for _, s := range list {
		if o.Lock != "" || len(o.Without) > 0 {
			jobs = append(jobs, Job{Scenario: s, Lenient: true, Lock: o.Lock, Without: o.Without})
			continue
		}
		jobs = append(jobs, Job{Scenario: s})
		for _, v := range s.Variants {
			jobs = append(jobs, Job{Scenario: s, Variant: v.Name})
		}
	}
	return jobs, nil
}

func (o Options) validate() error {
	kind := locks.Reference
	if o.Lock != "" {
		kind = o.Lock
	}
	k, err := locks.Find(kind)
	if err != nil {
		return err
	}
	for _, name := range o.Without {
		if _, err := redlock.ParseRule(name); err != nil {
			return err
		}
		if !k.Rules {
			return fmt.Errorf("%s has no rules to switch off: --without is for %s", k.Name, locks.Reference)
		}
	}
	_, err = kinds.Find(o.Cluster)
	return err
}

// plan is a job with everything settled: the scenario with its variant and the
// options applied.
type plan struct {
	*scenarios.Scenario
	Job    Job
	kind   cluster.Kind
	lock   locks.Kind
	expect map[string]string
	// without are all rules that are off.
	without    []string
	restarting time.Duration // how much of the TTL is for restarts; 0: there is no such part
}

// settle applies a job's variant and the options to its scenario.
func (o Options) settle(j Job) (*plan, error) {
	v, err := j.Scenario.Find(j.Variant)
	if err != nil {
		return nil, err
	}
	s := j.Scenario.With(v)
	if o.TTL > 0 {
		s.TTL = o.TTL
	}
	on, err := kinds.Find(o.Cluster)
	if err != nil {
		return nil, err
	}
	var longer, restarting time.Duration
	if o.TTL == 0 {
		longer, restarting = slowed(s, on.Restart)
		s.TTL += longer
	}
	if j.Lock != "" {
		s.Lock.Name = j.Lock
	}
	if s.Lock.Name == "" {
		s.Lock.Name = locks.Reference
	}
	kind, err := locks.Find(s.Lock.Name)
	if err != nil {
		return nil, err
	}
	p := &plan{Scenario: s, Job: j, kind: on, lock: kind, expect: s.Expect, restarting: restarting}
	p.without = append(append([]string(nil), v.Without...), j.Without...)
	return p, nil
}

// Skips says why a job would be skipped with these options, or "".
func (o Options) Skips(j Job) (string, error) {
	p, err := o.settle(j)
	if err != nil {
		return "", err
	}
	return p.skip(), nil
}

// clientNames lists the clients of the script, then those of the workload.
func (p *plan) clientNames() []string {
	var names []string
	for _, c := range p.Clients {
		names = append(names, c.Name)
	}
	if p.Workload != nil {
		names = append(names, workers(p.Workload)...)
	}
	return names
}

// workers names the clients of a workload.
func workers(w *scenarios.Workload) []string {
	names := make([]string, w.Clients)
	for i := range names {
		names[i] = fmt.Sprintf("w%d", i+1)
	}
	return names
}
