package cause

import (
	"fmt"
	"slices"

	"example.org/lockproof/internal/wording"
	"example.org/lockproof/scenarios"
)

// part is a fault or a step of a scenario, which can be left out.
type part struct {
	name string // "the pause of c1"
	kind string // of a fault; "" for other steps
	// remove marks it in a copy of the scenario as left out.
	remove func(*scenarios.Scenario)
}

// faults lists the faults of a scenario: those of its script and of its schedule, and the nodes that a client cannot
// reach or that are far from it.
func faults(s *scenarios.Scenario) []part {
	var all []part
	for i, step := range s.Script {
		if fault := step.Fault(); fault != nil && fault.Breaks() {
			all = append(all, part{name: fault.NounText(step.Targets), kind: fault.Kind,
				remove: func(s *scenarios.Scenario) { s.Script[i].Verb = "" }})
		}
		if len(step.Reaching) > 0 {
			all = append(all, part{name: "the nodes out of reach of " + wording.List(step.Targets), kind: "reach",
				remove: func(s *scenarios.Scenario) { s.Script[i].Reaching = nil }})
		}
	}
	for i, random := range s.Nemesis {
		all = append(all, part{name: "the drawn faults: " + random.Fault().NounText(random.Targets),
			kind:   string(random.Verb),
			remove: func(s *scenarios.Scenario) { s.Nemesis[i].Count = -1 }})
	}
	for i, c := range s.Clients {
		if len(c.Reach) > 0 {
			all = append(all, part{name: "the nodes out of reach of " + c.Name, kind: "reach",
				remove: func(s *scenarios.Scenario) { s.Clients[i].Reach = nil }})
		}
		if len(c.FarNodes) > 0 {
			all = append(all, part{name: "the nodes far from " + c.Name, kind: "far",
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
			all = append(all, part{name: "the " + string(step.Verb) + " of " + wording.List(step.Targets),
				remove: func(s *scenarios.Scenario) { s.Script[i].Verb = "" }})
		}
	}
	return numbered(all)
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

// without returns a copy of a scenario without some parts. Steps that end them or need them stay: a trial skips those
// that have nothing to end, or no lease.
func without(s *scenarios.Scenario, parts []part) *scenarios.Scenario {
	c := *s
	c.Script, c.Nemesis, c.Clients = slices.Clone(s.Script), slices.Clone(s.Nemesis), slices.Clone(s.Clients)
	for _, p := range parts {
		p.remove(&c)
	}
	c.Nemesis = slices.DeleteFunc(c.Nemesis, func(r scenarios.Random) bool { return r.Count < 0 })
	c.Script = slices.DeleteFunc(c.Script, func(s scenarios.Step) bool { return s.Verb == "" })
	return &c
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
