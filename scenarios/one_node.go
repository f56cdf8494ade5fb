package scenarios

import (
	"slices"
	"strings"
)

// onOneNode is the scenario as it is where there is one node: what it says of any
// node, or of a link to one, it says of n1. Clients whose majorities met in a node
// meet there.
func (s *Scenario) onOneNode() *Scenario {
	one := *s
	one.Nodes = []string{firstNode}
	one.Aliases = nil
	one.Replicas = map[string]string{}
	for replica := range s.Replicas {
		one.Replicas[replica] = firstNode
	}
	one.Clients = slices.Clone(s.Clients)
	for i := range one.Clients {
		c := &one.Clients[i]
		c.Reach, c.Nodes, c.Far = s.merged(c.Reach), s.merged(c.Nodes), s.merged(c.Far)
	}
	one.Script = s.mergedSteps(s.Script)
	one.Nemesis = slices.Clone(s.Nemesis)
	for i := range one.Nemesis {
		n := &one.Nemesis[i]
		n.Among = s.merged(n.Among)
		n.Count = min(n.Count, len(n.Among))
	}
	return &one
}

// firstNode is the one that stands for all.
const firstNode = "n1"

func (s *Scenario) mergedSteps(steps []Step) []Step {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Targets, steps[i].Reaching = s.merged(steps[i].Targets), s.merged(steps[i].Reaching)
	}
	return steps
}

// merged gives names with n1 in place of any node, each once.
func (s *Scenario) merged(names []string) []string {
	var all []string
	for _, name := range names {
		if end, node, isLink := strings.Cut(name, "-"); isLink && slices.Contains(s.Nodes, node) {
			name = end + "-" + firstNode
		} else if slices.Contains(s.Nodes, name) {
			name = firstNode
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// OneNode names the variant that is the scenario's form for locks on one node, "" if
// it has none.
func (s *Scenario) OneNode() string {
	for _, v := range s.Variants {
		if v.Nodes == 1 && len(v.Without) == 0 && v.Lock == nil {
			return v.Name
		}
	}
	return ""
}
