package docker

import (
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/cluster"
)

// supported are the faults that containers and toxiproxy can do.
var supported = []string{
	"kill", "shutdown", "start", "pause", "resume", "flush",
	"cut", "heal", "delay", "hold", "lose", "drop", "let-go",
	"client-clock",
}

// unsupported are the faults that they cannot do by themselves.
var unsupported = map[string]cluster.Unsupported{
	"node-clock": {
		Why: "containers read the clock of their host",
		How: "comes with the preload shim; the virtual cluster does it now",
	},
	"power-loss": {
		Why: "the page cache outlives a killed container, so nothing that was written would be lost",
		How: "comes with the preload shim; the virtual cluster does it now",
	},
}

// Supports says whether a docker cluster can do a fault: nil, or a
// *cluster.Unsupported. A scenario's clock verb is asked for as client-clock or
// node-clock.
func Supports(fault string) error {
	if slices.Contains(supported, fault) {
		return nil
	}
	u, known := unsupported[fault]
	if !known {
		u = cluster.Unsupported{Why: fmt.Sprintf("there is no such fault: there are %s, node-clock, power-loss",
			strings.Join(supported, ", "))}
	}
	u.Cluster, u.Fault = kind, fault
	return &u
}

// Supports is the function of that name, for a cluster at hand.
func (c *Cluster) Supports(fault string) error { return Supports(fault) }
