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

// Names of kinds of clusters that programs choose.
const (
	Virtual = cluster.Virtual
	Local   = cluster.Local
)

// DefaultRetries is how often a stalled trial is tried again unless Options say
// otherwise.
const DefaultRetries = 5

// Options say how scenarios are to be run. Their JSON, in results.json, has what the verdicts depend on.
type Options struct {
	Cluster string `json:"cluster"` // the name of its kind
	cluster.Choice
	Trials  int           `json:"trials"`
	Seed    uint64        `json:"seed"`
	TTL     time.Duration `json:"ttl,omitempty"`     // 0: each scenario's own
	Lock    string        `json:"lock,omitempty"`    // "": each scenario's own
	Nodes   int           `json:"nodes,omitempty"`   // on how many servers; 0: each scenario's own, or the lock's
	Without []string      `json:"without,omitempty"` // rules to switch off in every scenario
	// Parallel is how many trials run at a time; 0: what suits the cluster.
	Parallel int `json:"parallel,omitempty"`
	// Retries is how often a stalled trial is tried again.
	Retries int    `json:"retries,omitempty"`
	Out     string `json:"-"` // folder for results and histories
	// Slice is the part of the trials that is run; zero: all of them.
	Slice Slice `json:"-"`
	// Events asks for each trial's events with the trial, up to 50,000 of them: for who
	// has no folder. Who runs many trials has no memory for that.
	Events bool `json:"-"`
	// VerdictsOnly: of a property that is not violated nothing is told but the verdict. Who
	// searches asks for trials by the thousand, and reads no more.
	VerdictsOnly bool `json:"-"`
	// Notices takes what is to be said before the first trial begins, where that
	// takes long; nil: nobody.
	Notices io.Writer `json:"-"`
}

// validate refuses what does not exist, and gives the kind of cluster.
func (o Options) validate() (kind cluster.Kind, err error) {
	for _, name := range o.Without {
		if _, err := redlock.ParseRule(name); err != nil {
			return kind, err
		}
	}
	if o.Lock != "" {
		if err := o.checkRules(o.Lock); err != nil {
			return kind, err
		}
	}
	if err := o.checkNodes(); err != nil {
		return kind, err
	}
	return cluster.Find(o.Cluster)
}

// serverNumbers are those of servers that a lock may be asked for.
var serverNumbers = []int{1, 3, 5}

// checkNodes refuses a number of servers that the lock cannot be on.
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

// checkRules says why one of the rules that are to be off would change nothing of a lock.
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

// checkRulesOfAny says why the rules that are to be off would change nothing of any
// scenario's own lock, where no other is asked for.
func (o Options) checkRulesOfAny(list []*scenarios.Scenario) (err error) {
	for _, s := range list {
		if err = o.checkRules(s.Lock.Name); err == nil {
			return nil
		}
	}
	return err
}

// Plan makes the plan of a row's trials, which says why they would be skipped.
func (o Options) Plan(j Job) (*trial.Plan, error) {
	kind, err := cluster.Find(o.Cluster)
	if err != nil {
		return nil, err
	}
	return trial.NewPlan(j, trial.Settings{On: kind, Choice: o.choice(), TTL: o.TTL})
}

// choice is which servers the clusters have.
func (o Options) choice() cluster.Choice {
	lock, err := locks.Find(o.Lock)
	o.External = err == nil && lock.Program
	return o.Choice
}

// parallel is how many trials run side by side.
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
