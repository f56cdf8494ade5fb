package docker

import (
	"slices"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/server"
)

// supported are the faults that containers, toxiproxy and the preload shim can
// do.
var supported = []string{
	"kill", "shutdown", "start", "pause", "resume", "flush",
	"cut", "heal", "delay", "hold", "lose", "drop", "let-go",
	"client-clock", "node-clock", "power-loss", "slow-fsync", "fail-fsync", "fill-disk",
	"replicas", "promote", "sentinels", "fill", "rewrite", "disconnect",
}

// setups are what its servers can be set up with.
var setups = append([]string{"supervisor"}, server.Adjustable...)

// Supports says whether a docker cluster can do a fault: nil, or a
// *cluster.Unsupported. A scenario's clock verb is asked for as client-clock or
// node-clock.
func Supports(fault string) error {
	if slices.Contains(supported, fault) || slices.Contains(setups, fault) {
		return nil
	}
	return &cluster.Unsupported{Cluster: kind, Fault: fault, Why: "it knows no such fault", How: "it can do " + strings.Join(supported, ", ")}
}

// Supports is the function of that name, for a cluster at hand.
func (c *Cluster) Supports(fault string) error { return Supports(fault) }
