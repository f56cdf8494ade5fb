package suite

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	_ "example.org/lockproof/harness/cluster/virtual" // a kind that every program has
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
	"example.org/lockproof/redlock"
	"example.org/lockproof/scenarios"
)

// Names of kinds of clusters.
const (
	Virtual = cluster.Virtual
	Local   = cluster.Local
)

// DefaultRetries is the usual value of Options.Retries.
const DefaultRetries = 5

// Options configure a run. Their JSON, in results.json, has everything that the verdicts depend on.
type Options struct {
	Cluster string `json:"cluster"` // the name of its kind
	cluster.Choice
	Trials  int           `json:"trials"`
	Seed    uint64        `json:"seed"`
	TTL     time.Duration `json:"ttl,omitempty"`     // 0: each scenario's own
	Lock    string        `json:"lock,omitempty"`    // "": each scenario's own
	Nodes   int           `json:"nodes,omitempty"`   // number of servers; 0: each scenario's own, or the lock's
	Without []string      `json:"without,omitempty"` // rules to switch off in every scenario
	// Parallel is the number of trials at a time; 0: the cluster's default.
	Parallel int `json:"parallel,omitempty"`
	// Retries bounds the retries of a stalled trial.
	Retries int    `json:"retries,omitempty"`
	Out     string `json:"-"` // folder for results and histories
	// Slice is the part of the trials to run; zero: all of them.
	Slice Slice `json:"-"`
	// Events returns each trial's events in its Result, up to 50,000 of them, for callers without a folder. Many trials
	// would need too much memory.
	Events bool `json:"-"`
	// Notices receives messages about a slow start of the first trial; nil: they are discarded.
	Notices io.Writer `json:"-"`
}

// validate checks the names in the options.
func (o Options) validate() error {
	for _, name := range o.Without {
		if _, err := redlock.ParseRule(name); err != nil {
			return err
		}
	}
	if o.Lock != "" {
		if err := o.checkRules(o.Lock); err != nil {
			return err
		}
	}
	if err := o.checkNodes(); err != nil {
		return err
	}
	_, err := cluster.Find(o.Cluster)
	return err
}

// serverNumbers are the accepted values of Nodes.
var serverNumbers = []int{1, 3, 5}

// checkNodes refuses a number of servers that the lock does not support.
func (o Options) checkNodes() error {
	if o.Nodes == 0 {
		return nil
	}
	if !slices.Contains(serverNumbers, o.Nodes) {
		return fmt.Errorf("--nodes %d: give 1, 3 or 5", o.Nodes)
	}
	kind, err := locks.Find(cmp.Or(o.Lock, locks.Reference))
	has := kind.Servers
	if kind.SingleNode {
		has = 1
	}
	if err == nil && has > 0 && has != o.Nodes {
		return fmt.Errorf("--nodes %d: the lock %s is on %s", o.Nodes, kind.Name, servers(has))
	}
	return nil
}

// checkRules returns an error if the lock does not have one of the rules to switch off.
func (o Options) checkRules(lock string) error {
	k, err := locks.Find(cmp.Or(lock, locks.Reference))
	if err != nil {
		return err
	}
	for _, rule := range o.Without {
		if err := k.CheckRule(rule); err != nil {
			return fmt.Errorf("--without %s: %w", rule, err)
		}
	}
	return nil
}

// checkRulesOfAny returns an error if no scenario's own lock has the rules to switch off.
func (o Options) checkRulesOfAny(list []*scenarios.Scenario) (err error) {
	for _, s := range list {
		if err = o.checkRules(s.Lock.Name); err == nil {
			return nil
		}
	}
	return err
}

// Plan makes the plan of a row's trials. Its Skip says why they would be skipped.
func (o Options) Plan(j Job) (*trial.Plan, error) {
	kind, err := cluster.Find(o.Cluster)
	if err != nil {
		return nil, err
	}
	return trial.NewPlan(j, kind, o.choice(), o.TTL)
}

// choice selects the clusters' servers.
func (o Options) choice() cluster.Choice {
	lock, err := locks.Find(o.Lock)
	o.External = err == nil && lock.Program
	return o.Choice
}

// parallel is the number of trials at a time.
func (o Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	kind, err := cluster.Find(o.Cluster)
	if err != nil {
		return 1
	}
	return kind.Parallel()
}
