package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// The bounds of the controls keep the longest experiment to a few seconds of real time: a waiting client retries
// several times a second.
const (
	mostTTL     = 10 // seconds
	mostLoopTTL = 3  // seconds, where clients loop for many TTLs
	mostWait    = 4  // TTLs
	mostHold    = 1  // TTLs
	mostDrift   = 0.5
)

// numbers are a scenario's numeric controls: the restart delay, then faults and waits in the order of the script, then
// the lock's.
func numbers(s *scenarios.Scenario, kind locks.Kind) []*Control {
	var all []*Control
	if n := restartDelay(s); n != nil {
		all = append(all, n)
	}
	for i, step := range s.Script {
		if n := stepNumber(s, i, step); n != nil {
			all = append(all, n)
		}
	}
	for i, r := range s.Nemesis {
		if r.Count > 0 {
			all = append(all, &Control{Name: fmt.Sprintf("random-%d", i+1), Label: "Targets of each " + string(r.Verb),
				Unit:  "at once",
				Value: Text(float64(r.Count)), Least: 1, Most: float64(max(r.Count, min(len(r.Targets), 20))), Step: 1,
				setNumber: func(s *scenarios.Scenario, x float64) { s.Nemesis[i].Count = int(x) }})
		}
	}
	for i, c := range s.Clients {
		if !c.TTL.IsZero() {
			all = append(all, span(s, "ttl-of-"+c.Name, "TTL of "+c.Name, 0.1, mostWait,
				func(s *scenarios.Scenario) *scenarios.Span { return &s.Clients[i].TTL }))
		}
	}
	if s.Workload != nil {
		all = append(all, span(s, "hold", "Each holds the lock for", 0, mostHold,
			func(s *scenarios.Scenario) *scenarios.Span {
				w := *s.Workload
				s.Workload = &w
				return &w.Hold
			}))
	}
	most := float64(mostTTL)
	if s.Workload != nil {
		most = max(mostLoopTTL, s.TTL.Seconds())
	}
	all = append(all, &Control{Name: "ttl", Label: "TTL", Unit: "s", Value: Text(s.TTL.Seconds()), Least: 0.1, Most: most,
		Step: 0.1,
		setNumber: func(s *scenarios.Scenario, x float64) {
			s.TTL = time.Duration(x * float64(time.Second)).Round(time.Millisecond)
		}})
	if kind.Rules {
		all = append(all, drift(s))
	}
	return all
}

func driftOf(s *scenarios.Scenario) float64 { return s.Lock.Options(s.TTL).WithDefaults().Drift }

func drift(s *scenarios.Scenario) *Control {
	return &Control{Name: "drift", Label: "Drift factor", Unit: "of the TTL", Value: Text(driftOf(s)),
		Least: 0.005, Most: mostDrift, Step: 0.005, setNumber: func(s *scenarios.Scenario, x float64) { s.Lock.Drift = &x }}
}

// ttls makes a control of a duration in TTLs.
func ttls(s *scenarios.Scenario, name, label string, value scenarios.Span, least, most float64,
	set func(*scenarios.Scenario, scenarios.Span)) *Control {
	x := round(float64(value.In(s.TTL)) / float64(s.TTL))
	return &Control{Name: name, Label: label, Unit: "TTL", Value: Text(x),
		Least: min(least, x), Most: max(most, x), Step: 0.05,
		setNumber: func(s *scenarios.Scenario, x float64) { set(s, scenarios.Span{TTLs: x}) }}
}

// span makes a control of the duration that field returns.
func span(s *scenarios.Scenario, name, label string, least, most float64,
	field func(*scenarios.Scenario) *scenarios.Span) *Control {
	return ttls(s, name, label, *field(s), least, most,
		func(s *scenarios.Scenario, x scenarios.Span) { *field(s) = x })
}

func takesDown(s *scenarios.Scenario, step scenarios.Step) bool {
	return step.HasClass(history.NodeDown) && slices.ContainsFunc(step.Targets,
		func(t string) bool { return slices.Contains(s.Nodes, t) })
}

// restartDelay is the downtime of nodes: from their step, or a wait before the step that starts them.
func restartDelay(s *scenarios.Scenario) *Control {
	var delay scenarios.Span
	found := false
	for i, step := range s.Script {
		switch {
		case takesDown(s, step) && !step.After.IsZero():
			delay, found = step.After, true
		case step.HasClass(history.NodeUp):
			found = true
			if waitBefore(s.Script, i) {
				delay = s.Script[i-1].Wait
			}
		}
	}
	if !found {
		return nil
	}
	n := ttls(s, "restart-delay", "Restart delay", delay, 0, mostWait/2, setRestartDelay)
	// Source: redis.io, "Distributed Locks with Redis": delayed restarts; clocks may differ by the drift.
	n.Predictable = 1 + driftOf(s)
	if slices.ContainsFunc(s.Script, func(step scenarios.Step) bool { return !step.After.IsZero() }) {
		n.Least = 0.05 // in a step, zero means never
	}
	return n
}

// waitBefore reports whether a wait precedes the step at i.
func waitBefore(script []scenarios.Step, i int) bool {
	return i > 0 && script[i-1].Verb == scenarios.VerbWait
}

// setRestartDelay sets the downtime of nodes. It moves the restart into the step that takes the nodes down, so that
// clients continue meanwhile.
func setRestartDelay(s *scenarios.Scenario, delay scenarios.Span) {
	var script []scenarios.Step
	for i, step := range s.Script {
		switch {
		case takesDown(s, step) && !step.After.IsZero():
			step.After = delay
		case step.HasClass(history.NodeUp) && waitBefore(s.Script, i):
			script[len(script)-1].Wait = delay
		case step.HasClass(history.NodeUp) && startLater(script, step.Targets, delay):
			continue
		}
		script = append(script, step)
	}
	s.Script = script
}

// startLater adds the restart to the step that took the nodes down; false if no single step did.
func startLater(script []scenarios.Step, nodes []string, delay scenarios.Span) bool {
	for i, step := range slices.Backward(script) {
		if step.HasClass(history.NodeDown) && slices.Equal(step.Targets, nodes) {
			script[i].After = delay
			return true
		}
	}
	return false
}

// stepNumber returns the control of one step, nil if it has none.
func stepNumber(s *scenarios.Scenario, i int, step scenarios.Step) *Control {
	name := fmt.Sprintf("step-%d", i+1)
	targets := targetNames(step.Targets, s.Nodes)
	if fault := step.Fault(); fault != nil {
		for _, k := range fault.Knobs {
			if n := knob(s, i, name, k, targets); n != nil {
				return n
			}
		}
	}
	switch {
	case step.Verb == scenarios.VerbWait && i+1 < len(s.Script) && s.Script[i+1].HasClass(history.NodeUp):
		return nil // the restart delay
	case step.Verb == scenarios.VerbWait:
		return span(s, name, fmt.Sprintf("Step %d: wait", i+1), 0.05, mostWait,
			func(s *scenarios.Scenario) *scenarios.Span { return &s.Script[i].Wait })
	case !step.For.IsZero():
		return span(s, name, fmt.Sprintf("Length of the %s of %s", step.Verb, targets), 0.05, mostWait,
			func(s *scenarios.Scenario) *scenarios.Span { return &s.Script[i].For })
	}
	return nil
}

// knob returns the control of a fault's quantity, nil if the step does not set it.
func knob(s *scenarios.Scenario, i int, name string, k nemesis.Knob, targets string) *Control {
	label := k.Label + " of " + targets
	switch step := s.Script[i]; {
	case k.Modifier == "rate" && step.Rate != 0:
		return &Control{Name: name, Label: label, Unit: "× true", Value: Text(step.Rate),
			Least: k.Min, Most: k.Max, Step: k.Step, setNumber: func(s *scenarios.Scenario, x float64) { s.Script[i].Rate = x }}
	case k.Modifier == "jump" && !step.Jump.IsZero():
		return span(s, name, label, k.Min, k.Max,
			func(s *scenarios.Scenario) *scenarios.Span { return &s.Script[i].Jump })
	case k.Modifier == "by":
		return span(s, name, label, k.Min, k.Max,
			func(s *scenarios.Scenario) *scenarios.Span { return &s.Script[i].By })
	}
	return nil
}

// targetNames lists targets; all nodes are "all nodes".
func targetNames(targets, nodes []string) string {
	switch {
	case len(targets) == len(nodes) && len(nodes) > 1:
		return "all nodes"
	case len(targets) > 3:
		return fmt.Sprintf("%d targets", len(targets))
	}
	return strings.Join(targets, ", ")
}

// choices are the controls with options: the rules, the disks, the store.
func (e *Experiment) choices(kind locks.Kind) []*Control {
	s := e.base
	var all []*Control
	if kind.Rules {
		rule := e.ruleChoice(kind)
		if lock := e.lockChoice(); lock != nil && len(e.without) == 0 {
			all = append(all, lock)
		}
		all = append(all, rule)
	}
	if slices.ContainsFunc(s.Script, func(step scenarios.Step) bool { return takesDown(s, step) }) {
		c := &Control{Name: "persistence", Label: "Persistence", Value: string(s.Persistence),
			setOption: func(s *scenarios.Scenario, value string) { s.Persistence = cluster.Persistence(value) }}
		for _, p := range cluster.Persistences {
			c.Options = append(c.Options, Option{string(p), string(p)})
		}
		all = append(all, c)
	}
	if slices.ContainsFunc(s.Script, func(step scenarios.Step) bool { return step.Verb == scenarios.VerbWrite }) {
		all = append(all, storeChoice(s, kind))
	}
	return all
}

func storeChoice(s *scenarios.Scenario, kind locks.Kind) *Control {
	c := &Control{Name: "store", Label: "The store checks", Value: string(s.Store),
		Options: []Option{{string(scenarios.CheckNone), "nothing"},
			{string(scenarios.CheckCompare), "the version written from"}},
		setOption: func(s *scenarios.Scenario, value string) {
			s.Store = scenarios.StoreCheck(value)
			if s.Store == scenarios.CheckFence && !kind.Fencing {
				s.Lock.Name = locks.Fenced // the reference with fencing tokens
			}
			one := 1 // the scenario is about a rejected write
			s.Earned.Writes = &one
		}}
	if kind.Fencing || kind.Name == locks.Reference {
		c.Options = append(c.Options, Option{string(scenarios.CheckFence), "the fencing token"})
	}
	if c.Value == "" {
		c.Value = string(scenarios.CheckNone)
	}
	return c
}
