package network

import (
	"time"

	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// Run describes the network of one run: the links of cluster.Config.
type Run struct {
	Clock realtime.Clock
	Delay time.Duration // one way, of every link
	// Links carry commands and replies; Streams carry bytes that are not read.
	Links, Streams []history.Link
	// Servers maps each server and Sentinel to its address; "" if it is down.
	Servers map[string]string
	// Members maps the members of one Redis Cluster to the ports of their buses. Each member gets two further ports,
	// ToMember and ToBus, that no fault affects.
	Members map[string]int
}

// ToMember and ToBus stand for the source of connections to a member of a Redis Cluster past every link: to its port,
// and to the port of its bus.
const (
	ToMember = "to-member"
	ToBus    = "to-bus"
)
