package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// places says which node stands for each node of a scenario that is run on fewer.
type places map[string]string

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

// OnNodes is the scenario on so many nodes: as it stands where it has as many, and
// mapped where it has more, so that what was a majority, exactly one, or none stays so.
// nil: there is no such form, as where clients have lists of servers of their own.
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
			return standing(len(group), len(s.Nodes)) == standing(len(to.names(group)), n)
		}
		if !slices.ContainsFunc(groups, func(g []string) bool { return !keeps(g) }) {
			return s.merged(to)
		}
	}
	return nil
}

// standing is what so many of all nodes are: 0 less than a majority, 1 just one, 2 more, 3 all.
func standing(some, all int) int {
	if some == all {
		return 3
	}
	return cmp.Compare(some, all/2+1) + 1
}

// nodeGroups are the sets of nodes that the scenario names together: for a client, in a step, or as those of which
// random faults draw so many.
func (s *Scenario) nodeGroups() [][]string {
	groups := [][]string{s.Nodes}
	add := func(names []string) {
		by := map[string][]string{}
		for _, name := range names {
			end, node := endsOf(name)
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

// endsOf parts a link into the end that is no node, with the hyphen, and the node; any other name has no such end.
func endsOf(name string) (end, node string) {
	hyphen := strings.IndexByte(name, '-') + 1
	return name[:hyphen], name[hyphen:]
}

// surjections goes through the ways to put nodes, in their order, onto n places.
func surjections(nodes []string, n int) func(yield func(places) bool) {
	return func(yield func(places) bool) {
		total := 1
		for range nodes {
			total *= n
		}
		for code := range total {
			to, used := places{}, map[string]bool{}
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

// merged is the scenario with nodes that others stand for: what it says of any of
// them, or of a link to one, it says of the one that stands for it.
func (s *Scenario) merged(to places) *Scenario {
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

// names gives names of nodes, links and others with what stands for each node, each once.
func (to places) names(names []string) []string {
	var all []string
	for _, name := range names {
		if end, node := endsOf(name); to[node] != "" {
			name = end + to[node]
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
