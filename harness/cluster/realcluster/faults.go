package realcluster

import (
	"slices"

	"example.org/lockproof/harness/cluster/server"
)

// Faults are what every cluster of real servers can do, and what its servers can be set up with.
var Faults = slices.Concat([]string{
	"kill", "shutdown", "start", "pause", "resume", "flush",
	"cut", "heal", "delay", "hold", "lose", "drop", "let-go", "client-clock", "client-timers",
	"replicas", "promote", "sentinels", "redis-cluster", "fill", "rewrite", "busy", "block", "supervisor",
}, server.Adjustable)

// ShimFaults are what takes the preload shim as well.
var ShimFaults = []string{"node-clock", "power-loss", "slow-fsync", "fail-fsync", "fill-disk"}
