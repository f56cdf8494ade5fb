package network

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
)

// Run is what one run wants of its network: the links that cluster.Config lists.
type Run struct {
	// Epoch is the CLOCK_MONOTONIC reading at which the run began. Containers
	// share that clock with their host.
	Epoch int64         `json:"epoch"`
	Delay time.Duration `json:"delay,omitempty"` // one way, of every link
	// Links carry commands and replies, Streams what is passed on as it comes.
	Links   []history.Link `json:"links"`
	Streams []history.Link `json:"streams,omitempty"`
	// Servers gives the address of each server and Sentinel; "" for one that is down.
	Servers map[string]string `json:"servers"`
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

// Listening is the port on which a link waits for its client.
type Listening struct {
	history.Link
	Port int `json:"port"`
}

// Ports is how many ports the run's links take.
func (r Run) Ports() int { return len(r.Links) + len(r.Streams) + 2*len(r.Members) }

// longest is the longest delay of a link, whatever a message asks for.
const longest = 24 * time.Hour

// CheckDelay refuses a delay that no link has.
func CheckDelay(d time.Duration) error {
	if d < 0 || d > longest {
		return fmt.Errorf("a delay of %s: it is a time from 0 to %s", d, longest)
	}
	return nil
}
