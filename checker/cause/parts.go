package cause

import (
	"fmt"
	"slices"

	"example.org/lockproof/internal/wording"
	"example.org/lockproof/scenarios"
)

// part is a part of a scenario that can be left out.
type part struct {
	name string // "the pause of c1"
	kind string // of a fault; "" for other steps
	step int    // index in the script; -1: not in the script
	// remove takes a part that is not a step out of a copy of the scenario.
	remove func(*scenarios.Scenario)
}

// faults lists the faults of a scenario: those of its script and of its schedule, and the nodes that a client cannot
// reach or that are far from it.
func faults(s *scenarios.Scenario) []part {
	var all []part
	for i, step := range s.Script {
		if fault := step.Fault(); fault != nil && fault.Breaks() {
			all = append(all, part{name: partName(string(step.Verb), step.Targets), kind: string(step.Verb), step: i})
		}
		if len(step.Reaching) > 0 {
			all = append(all, part{name: "the nodes out of reach of " + wording.List(step.Targets), kind: "reach", step: -1,
				remove: func(s *scenarios.Scenario) { s.Script[i].Reaching = nil }})
		}
	}
	for i, random := range s.Nemesis {
		all = append(all, part{name: "the drawn faults: " + string(random.Verb) + " of " + wording.List(random.Targets),
			kind: string(random.Verb), step: -1,
			remove: func(s *scenarios.Scenario) { s.Nemesis[i].Count = -1 }})
	}
	for i, c := range s.Clients {
		if len(c.Reach) > 0 {
			all = append(all, part{name: "the nodes out of reach of " + c.Name, kind: "reach", step: -1,
				remove: func(s *scenarios.Scenario) { s.Clients[i].Reach = nil }})
		}
		if len(c.FarNodes) > 0 {
			all = append(all, part{name: "the nodes far from " + c.Name, kind: "far", step: -1,
				remove: func(s *scenarios.Scenario) { s.Clients[i].FarNodes = nil }})
		}
	}
	return numbered(all)
}

// steps lists the clients' steps except acquires: without these no client requests the lock.
func steps(s *scenarios.Scenario) []part {
	var all []part
	for i, step := range s.Script {
		switch step.Verb {
		case scenarios.VerbExtend, scenarios.VerbRelease, scenarios.VerbWatch, scenarios.VerbCancel, scenarios.VerbWrite:
			all = append(all, part{name: partName(string(step.Verb), step.Targets), step: i})
		}
	}
	return numbered(all)
}

func partName(verb string, targets []string) string {
	return "the " + verb + " of " + wording.List(targets)
}

// numbered numbers the parts that have one name.
func numbered(parts []part) []part {
	times, seen := map[string]int{}, map[string]int{}
	for _, p := range parts {
		times[p.name]++
	}
	for i := range parts {
		w := parts[i].name
		if times[w] > 1 {
			seen[w]++
			parts[i].name = fmt.Sprintf("%s (%d. of %d)", w, seen[w], times[w])
		}
	}
	return parts
}

// without returns a copy of a scenario without some parts.
func without(s *scenarios.Scenario, parts []part) *scenarios.Scenario {
	c := *s
	c.Script, c.Nemesis, c.Clients = slices.Clone(s.Script), slices.Clone(s.Nemesis), slices.Clone(s.Clients)
	gone := map[int]bool{}
	for _, p := range parts {
		if p.step >= 0 {
			gone[p.step] = true
		} else {
			p.remove(&c)
		}
	}
	c.Nemesis = slices.DeleteFunc(c.Nemesis, func(r scenarios.Random) bool { return r.Count < 0 })
	c.Script = withoutSteps(c.Script, gone)
	return &c
}

// withoutSteps leaves out steps, and with a fault the later steps that only end it.
func withoutSteps(script []scenarios.Step, gone map[int]bool) []scenarios.Step {
	var kept []scenarios.Step
	ended := map[string]int{} // by ending kind and target: how many faults are left out and not ended
	for i, step := range script {
		fault := step.Fault()
		switch {
		case gone[i]:
			if fault != nil && fault.EndedBy != "" && step.For.IsZero() && step.After.IsZero() {
				for _, target := range step.Targets {
					ended[fault.EndedBy+" "+target]++
				}
			}
			continue
		case fault != nil && !fault.Breaks():
			step.Targets = slices.DeleteFunc(slices.Clone(step.Targets), func(target string) bool {
				key := string(step.Verb) + " " + target
				if ended[key] == 0 {
					return false
				}
				ended[key]--
				return true
			})
			if len(step.Targets) == 0 {
				continue
			}
		}
		kept = append(kept, step)
	}
	return kept
}

// kinds returns the kinds of some parts, each once and sorted.
func kinds(parts []part) []string {
	var all []string
	for _, p := range parts {
		if p.kind != "" && !slices.Contains(all, p.kind) {
			all = append(all, p.kind)
		}
	}
	slices.Sort(all)
	return all
}

func namesOf(parts []part) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}
