package local

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/server"
	"lockproof/harness/cluster/shim"
)

// supported are the faults that real processes and toxiproxy can do.
var supported = []string{
	"kill", "shutdown", "start", "pause", "resume", "flush",
	"cut", "heal", "delay", "hold", "lose", "drop", "let-go",
	"client-clock", "replicas", "promote", "sentinels",
	"fill", "rewrite",
}

// setups are what its servers can be set up with.
var setups = append([]string{"supervisor"}, server.Adjustable...)

// shimmed are the faults that need the preload shim as well, with what stands
// in their way without it.
var shimmed = map[string]string{
	nodeClock: "redis-server reads the host's own clock",
	powerLoss: "the page cache outlives a killed process, so nothing that was written would be lost",
	slowFsync: "the disk is the host's own",
	failFsync: "the disk is the host's own",
	fillDisk:  "the disk is the host's own",
}

// Supports says whether a local cluster can do a fault: nil, or a
// *cluster.Unsupported. A scenario's clock verb is asked for as client-clock or
// node-clock.
func Supports(fault string) error {
	if slices.Contains(supported, fault) || slices.Contains(setups, fault) {
		return nil
	}
	if fault == "disconnect" {
		return unsupported(fault, "its servers are on loopback, in no network of their own", "run it with --on docker, or cut the links to the node")
	}
	why, known := shimmed[fault]
	if !known {
		return unsupported(fault, fmt.Sprintf("there is no such fault: there are %s, %s",
			strings.Join(supported, ", "), strings.Join(slices.Sorted(maps.Keys(shimmed)), ", ")), "")
	}
	_, err := shim.Build("")
	if err == nil {
		return nil
	}
	var missing *shim.Missing
	if errors.As(err, &missing) {
		return unsupported(fault, why+", and "+missing.Why, missing.How)
	}
	return unsupported(fault, fmt.Sprintf("%s, and %v", why, err), "")
}

func unsupported(fault, why, how string) error {
	return &cluster.Unsupported{Cluster: kind, Fault: fault, Why: why, How: how}
}

// Supports is the function of that name, for a cluster at hand.
func (c *Cluster) Supports(fault string) error { return Supports(fault) }
