package explore

import (
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// Schedule is all that one trial does: who there is, and what happens when.
type Schedule struct {
	TTL         time.Duration       `json:"ttl"`
	Nodes       int                 `json:"nodes"`
	Clients     int                 `json:"clients"`
	Persistence cluster.Persistence `json:"persistence"`
	Aliases     map[string]string   `json:"aliases,omitempty"` // nodes that are listed twice
	Lock        Lock                `json:"lock"`
	Steps       []Step              `json:"steps"` // in the order of At
}

// Lock is what a schedule sets of the lock under test; zero values are its defaults.
type Lock struct {
	NodeTimeout   time.Duration `json:"node_timeout,omitempty"`
	RetryMin      time.Duration `json:"retry_min,omitempty"` // both are set, or neither
	RetryMax      time.Duration `json:"retry_max,omitempty"`
	Tries         int           `json:"tries,omitempty"`
	MaxExtensions int           `json:"max_extensions,omitempty"`
	Resends       int           `json:"resends,omitempty"` // of a command that was not answered, by the client library
}

// Step is one operation of a client, or one fault, so long after the beginning.
type Step struct {
	At time.Duration `json:"at"`
	scenarios.Step
}

// operation is one of a client, for which nothing waits: about the lease that it holds then, if it is about one.
func operation(verb scenarios.Verb, who string, at, within time.Duration) Step {
	step := scenarios.Step{Verb: verb, Targets: []string{who}, Async: true, Within: scenarios.Span{Fixed: within}}
	step.IfHeld = verb != scenarios.VerbAcquire && verb != scenarios.VerbRead
	if verb == scenarios.VerbAcquire || verb == scenarios.VerbRead || verb == scenarios.VerbWrite {
		step.Key = scenarios.DefaultKey
	}
	return Step{At: at, Step: step}
}

// Scenario is the schedule as one that can be run: operations do not wait for one
// another, and the times between the steps are waits.
func (s *Schedule) Scenario(name string, expect map[string]string) *scenarios.Scenario {
	out := &scenarios.Scenario{
		Name: name, TTL: s.TTL, On: cluster.Names(), Persistence: s.Persistence, Aliases: s.Aliases,
		Restart: scenarios.RestartNever, Store: scenarios.CheckNone, Expect: expect,
		Lock: scenarios.Lock{
			NodeTimeout: scenarios.Span{Fixed: s.Lock.NodeTimeout}, Tries: s.Lock.Tries,
			RetryMin: scenarios.Span{Fixed: s.Lock.RetryMin}, RetryMax: scenarios.Span{Fixed: s.Lock.RetryMax},
			Settings: locks.Settings{MaxExtensions: s.Lock.MaxExtensions, Resends: s.Lock.Resends},
		},
	}
	for i := range s.Nodes {
		out.Nodes = append(out.Nodes, node(i))
	}
	for i := range s.Clients {
		out.Clients = append(out.Clients, scenarios.Client{Name: client(i)})
	}
	out.Bounds = s.bounds()
	for i, step := range s.Steps {
		if wait := s.wait(i); wait > 0 {
			out.Script = append(out.Script, scenarios.Step{Verb: scenarios.VerbWait, Wait: scenarios.Span{Fixed: wait}})
		}
		out.Script = append(out.Script, step.Step)
	}
	return out
}

// bounds are what the liveness properties promise of a lock with these options: a long
// node timeout costs an attempt as much, and the next one again, which a long retry delay
// puts off.
func (s *Schedule) bounds() scenarios.Bounds {
	b := scenarios.Bounds{}
	if s.Lock.MaxExtensions > 0 {
		b["tenure"] = scenarios.Span{TTLs: float64(s.Lock.MaxExtensions + 1)}
	}
	if asked := 2 * s.Lock.NodeTimeout; asked+s.Lock.RetryMax > 0 {
		b["grant"] = scenarios.Span{Fixed: s.TTL/2 + asked + s.Lock.RetryMax}
		b["release"] = scenarios.Span{Fixed: s.TTL/2 + asked}
		b["free"] = scenarios.Span{Fixed: s.TTL*3/2 + asked + s.Lock.RetryMax}
	}
	return b
}

// wait is how long a script waits before a step, 0 if it need not.
func (s *Schedule) wait(i int) time.Duration {
	var before time.Duration
	if i > 0 {
		before = s.Steps[i-1].At
	}
	return s.Steps[i].At - before
}

// clone is a schedule of its own with the same content.
func (s *Schedule) clone() *Schedule {
	c := *s
	c.Steps = slices.Clone(s.Steps)
	return &c
}
