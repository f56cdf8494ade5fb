package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/scenarios"
)

// Fault is a fault that a reader may add to a script, as a step of its file.
type Fault struct{ Verb, Label, step string }

// Faults have durations that become controls.
var Faults = []Fault{
	{"kill", "crashes (servers: for 0.3 TTL)", "  - kill: %s\n    after: 0.3 ttl\n"},
	{"pause", "sleeps for 1.5 TTL", "  - pause: %s\n    for: 1.5 ttl\n"},
	{"cut", "is cut off for 1 TTL", "  - cut: %s\n    for: 1 ttl\n"},
	{"clock", "has its clock set 1 TTL forward", "  - clock: %s\n    jump: 1 ttl\n"},
}

// Add adds faults to the file of a scenario of the catalogue, and parses the new file. A fault is the number of the
// next step, a verb and a target: "3 kill n1".
func Add(s *scenarios.Scenario, added []string) (*scenarios.Scenario, string, error) {
	text, err := scenarios.Text(s)
	if err != nil {
		return nil, "", err
	}
	lines := strings.SplitAfter(string(text), "\n")
	before := map[int]string{} // by line index
	for _, a := range added {
		step, verb, target, err := parse(a, s)
		if err != nil {
			return nil, "", err
		}
		line := s.Script[step-1].Line - 1
		before[line] += fmt.Sprintf(verb.step, target)
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(before[i] + line)
	}
	whole, err := scenarios.Parse(s.Name+".yaml", []byte(b.String()))
	return whole, b.String(), err
}

// parse parses an added fault.
func parse(added string, s *scenarios.Scenario) (step int, f Fault, target string, err error) {
	words := strings.Fields(added)
	if len(words) != 3 {
		return 0, f, "", fmt.Errorf("invalid fault %q: want a step, a verb and a target, for example 3 kill n1", added)
	}
	if step, err = strconv.Atoi(words[0]); err != nil || step < 1 || step > len(s.Script) {
		return 0, f, "", fmt.Errorf("invalid step %q: want one from 1 to %d", words[0], len(s.Script))
	}
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Verb == words[1] })
	if i < 0 {
		return 0, f, "", fmt.Errorf("invalid fault %q: want kill, pause, cut or clock", words[1])
	}
	target = words[2]
	client := slices.ContainsFunc(s.Clients, func(c scenarios.Client) bool { return c.Name == target })
	switch {
	case !client && !slices.Contains(s.Nodes, target):
		return 0, f, "", fmt.Errorf("invalid target %q: the scenario has no such client or server", target)
	case words[1] == "kill" && client:
		return step, Fault{step: "  - kill: %s\n"}, target, nil // a client does not come back
	case words[1] == "cut" && client:
		target += "-*"
	case words[1] == "cut":
		target = `"*-` + target + `"`
	}
	return step, Faults[i], target, nil
}
