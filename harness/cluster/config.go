package cluster

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"example.org/lockproof/harness/history"
)

// Check rejects mistakes that would fail later and less clearly.
func (c Config) Check() error {
	if len(c.Nodes) == 0 {
		return errors.New("no nodes: name at least one")
	}
	if c.Record == nil {
		return errors.New("Config.Record is nil: it must take the run's events")
	}
	if c.Persistence != "" && !slices.Contains(Persistences, c.Persistence) {
		return fmt.Errorf("no persistence setting %q: there are %v", c.Persistence, Persistences)
	}
	names := slices.Concat(c.Nodes, slices.Sorted(maps.Keys(c.Replicas)), c.Clients)
	for i, name := range names {
		switch {
		case name == "" || name != filepath.Base(name) || name[0] == '.':
			return fmt.Errorf("%q cannot be a name: each names a folder or file of its own", name)
		case name == history.StoreName:
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
	if c.Sentinels > 0 && len(c.Watched()) == 1 {
		return errors.New("no replica of the first node: its Sentinels need one to promote")
	}
	if err := c.checkRedisCluster(); err != nil {
		return err
	}
	for replica, master := range c.Replicas {
		if !slices.Contains(c.Nodes, master) || c.Aliases[master] != "" {
			return fmt.Errorf("invalid master %[2]q of %[1]s: want a node with a server of its own, one of %[3]v",
				replica, master, c.Nodes)
		}
	}
	return nil
}

func (c Config) checkRedisCluster() error {
	switch {
	case !c.RedisCluster:
	case c.Sentinels > 0:
		return errors.New("a Redis Cluster promotes replicas by itself: no Sentinels watch it")
	case len(c.Aliases) > 0:
		return errors.New("the masters of a Redis Cluster are servers of their own: none is another's alias")
	case len(slices.Compact(slices.Sorted(maps.Values(c.Replicas)))) < len(c.Replicas):
		return fmt.Errorf("a master of a Redis Cluster may have one replica: there are %v", c.Replicas)
	}
	return nil
}

// Resolve follows aliases to the node with a server; "" if the aliases form a cycle.
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

// SentinelNames names the Sentinels: s1 to sN.
func (c Config) SentinelNames() []string {
	names := make([]string, c.Sentinels)
	for i := range names {
		names[i] = fmt.Sprintf("s%d", i+1)
	}
	return names
}

// Watched lists the servers that Sentinels watch: the first node and its replicas.
func (c Config) Watched() []string {
	if c.Sentinels == 0 {
		return nil
	}
	watched := []string{c.Nodes[0]}
	for _, name := range slices.Sorted(maps.Keys(c.Replicas)) {
		if c.Replicas[name] == c.Nodes[0] {
			watched = append(watched, name)
		}
	}
	return watched
}

// Links lists the links of a run. Commands and replies pass on those from each client to each server. Streams pass on
// those from each client to each Sentinel, from each replica to its master, and from all Sentinels together to each
// watched server.
func (c Config) Links() (commands, streams []history.Link) {
	for _, client := range c.Clients {
		for _, name := range c.Servers() {
			commands = append(commands, history.Link{From: client, To: name})
		}
		for _, name := range c.SentinelNames() {
			streams = append(streams, history.Link{From: client, To: name})
		}
	}
	for _, replica := range slices.Sorted(maps.Keys(c.Replicas)) {
		streams = append(streams, history.Link{From: replica, To: c.Replicas[replica]})
	}
	for _, name := range c.Watched() {
		streams = append(streams, history.Link{From: SentinelsName, To: name})
	}
	return commands, streams
}

// Replicates reports whether a server is a replica or has one.
func (c Config) Replicates(name string) bool {
	return c.Replicas[name] != "" || slices.Contains(slices.Collect(maps.Values(c.Replicas)), name)
}

// SettingsOf returns the further lines of a server's redis.conf, by name. A replica does not require replicas: after
// its promotion it has none.
func (c Config) SettingsOf(name string) map[string]string {
	settings := maps.Clone(c.Settings)
	if c.Replicas[name] != "" {
		delete(settings, MinReplicas)
	}
	return settings
}

// The lines of redis.conf that make a master refuse writes while it has too few replicas.
const (
	MinReplicas = "min-replicas-to-write"
	MinLag      = "min-replicas-max-lag" // maximum age of a replica's acknowledgement, in seconds
)

// Servers lists the nodes with servers of their own, the replicas and the store.
func (c Config) Servers() []string {
	var names []string
	for _, name := range c.Nodes {
		if _, alias := c.Aliases[name]; !alias {
			names = append(names, name)
		}
	}
	names = append(names, slices.Sorted(maps.Keys(c.Replicas))...)
	return append(names, history.StoreName)
}
