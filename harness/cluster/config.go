package cluster

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Check refuses what would otherwise fail later and less clearly.
func (c Config) Check() error {
	if len(c.Nodes) == 0 {
		return errors.New("no nodes: name at least one")
	}
	if c.Record == nil {
		return errors.New("Config.Record is nil: it must take the run's events")
	}
	names := slices.Concat(c.Nodes, slices.Sorted(maps.Keys(c.Replicas)), c.Clients)
	for i, name := range names {
		switch {
		case name == "" || name != filepath.Base(name) || name[0] == '.':
			return fmt.Errorf("%q cannot be a name: each names a folder or file of its own", name)
		case name == StoreName:
			return fmt.Errorf("a node or client cannot be named %q: that is the guarded store", name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%q is named twice: nodes and clients need names of their own", name)
		}
	}
	for alias := range c.Aliases {
		if to := c.Resolve(alias); to == "" || !slices.Contains(c.Nodes, to) {
			return fmt.Errorf("the alias %s does not lead to a node: there are %v", alias, c.Nodes)
		}
	}
	for replica, master := range c.Replicas {
		if !slices.Contains(c.Nodes, master) || c.Aliases[master] != "" {
			return fmt.Errorf("the master of %s is to be %q, which is no node with a server of its own: there are %v", replica, master, c.Nodes)
		}
	}
	return nil
}

// Resolve follows aliases to the node that has a server; "" if they go round in
// circles.
func (c Config) Resolve(name string) string {
	for range len(c.Aliases) + 1 {
		to, alias := c.Aliases[name]
		if !alias {
			return name
		}
		name = to
	}
	return ""
}

// Servers lists the nodes that have servers of their own, the replicas and the
// store.
func (c Config) Servers() []string {
	var names []string
	for _, name := range c.Nodes {
		if _, alias := c.Aliases[name]; !alias {
			names = append(names, name)
		}
	}
	names = append(names, slices.Sorted(maps.Keys(c.Replicas))...)
	return append(names, StoreName)
}
