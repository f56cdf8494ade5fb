package network

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/history"
)

// Run is what one run wants of its network: a link from every client to every server, and
// from every replica to its master.
type Run struct {
	// Epoch is the CLOCK_MONOTONIC reading at which the run began. Containers
	// share that clock with their host.
	Epoch   int64         `json:"epoch"`
	Delay   time.Duration `json:"delay,omitempty"` // one way, of every link
	Clients []string      `json:"clients"`
	// Servers gives each server's address; "" for one that is down.
	Servers map[string]string `json:"servers"`
	// Replicas gives the master of each of the servers that has one.
	Replicas map[string]string `json:"replicas,omitempty"`
	// Watched are the servers that Sentinels watch, over one link to each; Sentinels
	// gives the Sentinels' addresses. Every client has a link to each.
	Watched   []string          `json:"watched,omitempty"`
	Sentinels map[string]string `json:"sentinels,omitempty"`
	// Members are the servers that make one Redis Cluster, with the port of each one's bus.
	// Each is reached at two ports more, on which no fault affects what passes: see ToMember
	// and ToBus.
	Members map[string]int `json:"members,omitempty"`
	// StallLimit is the lateness from which on the network reports a stall of its own
	// process; 0: it does not.
	StallLimit time.Duration `json:"stall_limit,omitempty"`
}

// Process is the network's name in the history, for its stalls.
const Process = "toxiproxy"

// ToMember and ToBus stand for whoever reaches a member of a Redis Cluster past every link:
// at its port, and at the port of its bus.
const (
	ToMember = "to-member"
	ToBus    = "to-bus"
)

// Path names a link.
type Path struct {
	Client string `json:"client"`
	Server string `json:"server"`
}

// Listening is the port on which a link waits for its client.
type Listening struct {
	Path
	Port int `json:"port"`
}

// RunOf is what a cluster wants of its network, but for the addresses.
func RunOf(cfg cluster.Config) Run {
	r := Run{Delay: cfg.Delay, Clients: cfg.Clients, Replicas: cfg.Replicas, Watched: cfg.Watched(),
		Servers: map[string]string{}, Sentinels: map[string]string{}, Members: map[string]int{}}
	for _, name := range cfg.Servers() {
		r.Servers[name] = ""
		if cfg.RedisCluster && name != history.StoreName {
			r.Members[name] = 0
		}
	}
	for _, name := range cfg.SentinelNames() {
		r.Sentinels[name] = ""
	}
	return r
}

// Ports is how many ports the run's links take.
func (r Run) Ports() int {
	return len(r.Clients)*(len(r.Servers)+len(r.Sentinels)) + len(r.Replicas) + len(r.Watched) + 2*len(r.Members)
}

// longest is the longest delay of a link, whatever a message asks for.
const longest = 24 * time.Hour

// CheckDelay refuses a delay that no link has.
func CheckDelay(d time.Duration) error {
	if d < 0 || d > longest {
		return fmt.Errorf("a delay of %s: it is a time from 0 to %s", d, longest)
	}
	return nil
}

// links lists what links there are to be.
func (r Run) links() []link.Config {
	scripts := script.New()
	var wanted []link.Config
	for _, client := range r.Clients {
		for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
			wanted = append(wanted, link.Config{Client: client, Node: name, Scripts: scripts})
		}
		for _, name := range slices.Sorted(maps.Keys(r.Sentinels)) {
			wanted = append(wanted, link.Config{Client: client, Node: name, Opaque: true})
		}
	}
	for _, replica := range slices.Sorted(maps.Keys(r.Replicas)) {
		wanted = append(wanted, link.Config{Client: replica, Node: r.Replicas[replica], Opaque: true})
	}
	for _, name := range r.Watched {
		wanted = append(wanted, link.Config{Client: cluster.SentinelsName, Node: name, Opaque: true})
	}
	return wanted
}
