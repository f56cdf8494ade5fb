package explore

import (
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/scenarios"
)

// Schedule is the set-up and the timed steps of a trial.
type Schedule struct {
	TTL         time.Duration       `json:"ttl"`
	Nodes       int                 `json:"nodes"`
	Clients     int                 `json:"clients"`
	Persistence cluster.Persistence `json:"persistence"`
	Aliases     map[string]string   `json:"aliases,omitempty"` // nodes without a server of their own
	Lock        scenarios.Lock      `json:"lock"`              // without a name, and with fixed times
	Steps       []Step              `json:"steps"`             // in the order of At
}

// fixed is a time that does not depend on the TTL.
func fixed(d time.Duration) scenarios.Span { return scenarios.Span{Fixed: d} }

// Step is an operation or a fault, at a time since the start of the trial.
type Step struct {
	At time.Duration `json:"at"`
	scenarios.Step
}

// operation is an asynchronous step of a client. It needs a lease unless it is an acquire or a read.
func operation(verb scenarios.Verb, client string, at, within time.Duration) Step {
	step := scenarios.Step{Verb: verb, Targets: []string{client}, Async: true, Within: fixed(within)}
	step.IfHeld = verb != scenarios.VerbAcquire && verb != scenarios.VerbRead
	if verb == scenarios.VerbAcquire || verb == scenarios.VerbRead || verb == scenarios.VerbWrite {
		step.Key = scenarios.DefaultKey
	}
	return Step{At: at, Step: step}
}

// Scenario converts the schedule: operations are asynchronous, and waits separate the steps.
func (s *Schedule) Scenario(name string, expect map[string]string) *scenarios.Scenario {
	out := &scenarios.Scenario{
		Name: name, TTL: s.TTL, On: cluster.Names(), Persistence: s.Persistence, Aliases: s.Aliases,
		Restart: scenarios.RestartNever, Store: scenarios.CheckNone, Expect: expect, Lock: s.Lock,
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
			out.Script = append(out.Script, scenarios.Step{Verb: scenarios.VerbWait, Wait: fixed(wait)})
		}
		out.Script = append(out.Script, step.Step)
	}
	return out
}

// bounds are the liveness bounds of a lock with these options. An attempt may last a node timeout, and so may the
// next, after a retry delay.
func (s *Schedule) bounds() scenarios.Bounds {
	b := scenarios.Bounds{}
	if s.Lock.MaxExtensions > 0 {
		b["tenure"] = scenarios.Span{TTLs: float64(s.Lock.MaxExtensions + 1)}
	}
	if timeouts, retry := 2*s.Lock.NodeTimeout.Fixed, s.Lock.RetryMax.Fixed; timeouts+retry > 0 {
		b["grant"] = fixed(s.TTL/2 + timeouts + retry)
		b["release"] = fixed(s.TTL/2 + timeouts)
		b["free"] = fixed(s.TTL*3/2 + timeouts + retry)
	}
	return b
}

// wait is the time between a step and the one before.
func (s *Schedule) wait(i int) time.Duration {
	var before time.Duration
	if i > 0 {
		before = s.Steps[i-1].At
	}
	return s.Steps[i].At - before
}

// clone copies the schedule and its list of steps.
func (s *Schedule) clone() *Schedule {
	c := *s
	c.Steps = slices.Clone(s.Steps)
	return &c
}
