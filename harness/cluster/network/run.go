package network

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
)

// Run describes the network of one run: the links of cluster.Config.
type Run struct {
	// Epoch is the CLOCK_MONOTONIC reading at which the run began. Containers
	// share that clock with their host.
	Epoch int64         `json:"epoch"`
	Delay time.Duration `json:"delay,omitempty"` // one way, of every link
	// Links carry commands and replies; Streams carry bytes that are not read.
	Links   []history.Link `json:"links"`
	Streams []history.Link `json:"streams,omitempty"`
	// Servers maps each server and Sentinel to its address; "" if it is down.
	Servers map[string]string `json:"servers"`
	// Members maps the members of one Redis Cluster to the ports of their buses. Each member gets two further ports,
	// ToMember and ToBus, that no fault affects.
	Members map[string]int `json:"members,omitempty"`
	// StallLimit is the lateness at which the network reports a stall of its own process; 0: never.
	StallLimit time.Duration `json:"stall_limit,omitempty"`
}

// Process is the network's name in the history, for its stalls.
const Process = "toxiproxy"

// ToMember and ToBus stand for the source of connections to a member of a Redis Cluster past every link: to its port,
// and to the port of its bus.
const (
	ToMember = "to-member"
	ToBus    = "to-bus"
)

// Listening is the port of a link.
type Listening struct {
	history.Link
	Port int `json:"port"`
}

// Ports is the number of ports that the run needs.
func (r Run) Ports() int { return len(r.Links) + len(r.Streams) + 2*len(r.Members) }

const maxDelay = 24 * time.Hour

// CheckDelay rejects a delay below 0 or above maxDelay.
func CheckDelay(d time.Duration) error {
	if d < 0 || d > maxDelay {
		return fmt.Errorf("a delay of %s: it is a time from 0 to %s", d, maxDelay)
	}
	return nil
}
