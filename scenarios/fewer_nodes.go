package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nodeMapping maps the nodes of a scenario to fewer nodes.
type nodeMapping map[string]string

// OneNode returns the name of the variant for single-node locks, "" if there is none.
func (s *Scenario) OneNode() string {
	for _, v := range s.Variants {
		if v.Nodes == 1 && len(v.Without) == 0 && v.Lock == nil {
			return v.Name
		}
	}
	return ""
}

// OnNodes maps the scenario to n nodes such that each set of nodes that it names stays a minority, a bare majority, a
// larger majority, or all. It returns nil if no mapping does, for example if clients have their own server lists.
func (s *Scenario) OnNodes(n int) *Scenario {
	ownList := func(c Client) bool { return len(c.Nodes) > 0 }
	switch {
	case slices.ContainsFunc(s.Clients, ownList):
		return nil
	case len(s.Nodes) == n:
		return s
	case len(s.Nodes) < n || n < 2 || len(s.Aliases) > 0 || s.RedisCluster != nil:
		return nil
	}
	groups := s.nodeGroups()
	for to := range surjections(s.Nodes, n) {
		keeps := func(group []string) bool {
			return quorumClass(len(group), len(s.Nodes)) == quorumClass(len(to.names(group)), n)
		}
		if !slices.ContainsFunc(groups, func(g []string) bool { return !keeps(g) }) {
			return s.merged(to)
		}
	}
	return nil
}

// quorumClass is 0 for a minority, 1 for a bare majority, 2 for a larger one, 3 for all nodes.
func quorumClass(some, all int) int {
	if some == all {
		return 3
	}
	return cmp.Compare(some, all/2+1) + 1
}

// nodeGroups lists the sets of nodes that the scenario names together: for a client, in a step, or as the targets of a
// random fault.
func (s *Scenario) nodeGroups() [][]string {
	groups := [][]string{s.Nodes}
	add := func(names []string) {
		by := map[string][]string{}
		for _, name := range names {
			end, node := splitLink(name)
			if slices.Contains(s.Nodes, node) {
				by[end] = append(by[end], node)
			}
		}
		groups = slices.AppendSeq(groups, maps.Values(by))
	}
	for _, c := range s.Clients {
		add(c.Reach)
		add(c.FarNodes)
	}
	for _, step := range s.Script {
		add(step.Targets)
		add(step.Reaching)
	}
	for _, r := range s.Nemesis {
		add(r.Targets)
	}
	return groups
}

// splitLink splits a link into its first end with the hyphen, and its last. For other names the first is "".
func splitLink(name string) (end, node string) {
	hyphen := strings.IndexByte(name, '-') + 1
	return name[:hyphen], name[hyphen:]
}

// surjections yields every mapping of the nodes onto n1 to nN.
func surjections(nodes []string, n int) func(yield func(nodeMapping) bool) {
	return func(yield func(nodeMapping) bool) {
		total := 1
		for range nodes {
			total *= n
		}
		for code := range total {
			to, used := nodeMapping{}, map[string]bool{}
			for _, node := range nodes {
				to[node] = fmt.Sprintf("n%d", code%n+1)
				used[to[node]] = true
				code /= n
			}
			if len(used) == n && !yield(to) {
				return
			}
		}
	}
}

// merged is the scenario with every node, and every link to it, replaced by the node that it maps to.
func (s *Scenario) merged(to nodeMapping) *Scenario {
	fewer := *s
	fewer.Nodes = slices.Sorted(maps.Values(to))
	fewer.Nodes = slices.Compact(fewer.Nodes)
	fewer.Aliases = nil
	fewer.Replicas = map[string]string{}
	for replica, master := range s.Replicas {
		fewer.Replicas[replica] = to[master]
	}
	fewer.Clients = slices.Clone(s.Clients)
	for i := range fewer.Clients {
		c := &fewer.Clients[i]
		c.Reach, c.Nodes, c.FarNodes = to.names(c.Reach), to.names(c.Nodes), to.names(c.FarNodes)
	}
	fewer.Script = slices.Clone(s.Script)
	for i := range fewer.Script {
		step := &fewer.Script[i]
		step.Targets, step.Reaching = to.names(step.Targets), to.names(step.Reaching)
	}
	fewer.Nemesis = slices.Clone(s.Nemesis)
	for i := range fewer.Nemesis {
		r := &fewer.Nemesis[i]
		r.Targets = to.names(r.Targets)
		r.Count = min(r.Count, len(r.Targets))
	}
	return &fewer
}

// names maps the nodes in names of nodes and links, without duplicates.
func (to nodeMapping) names(names []string) []string {
	var all []string
	for _, name := range names {
		if end, node := splitLink(name); to[node] != "" {
			name = end + to[node]
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
