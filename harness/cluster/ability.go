package cluster

// Ability is something that not every cluster can do. All of them can kill, shut
// down, start, pause and flush a node, set a client's clock, and cut, delay and
// intercept what passes on links.
type Ability string

// The abilities.
const (
	NodeClocks  Ability = "node-clock" // set a node's wall clock
	PowerLosses Ability = "power-loss" // lose what was not fsynced
	Fsyncs      Ability = "fsync"      // delay fsyncs, or let them fail: Disk
	FullDisks   Ability = "full-disk"  // fill a disk: Disk
	Memory      Ability = "memory"     // fill a node's memory: Server
	Rewrites    Ability = "rewrite"    // rewrite an append-only file: Server
	Networks    Ability = "network"    // take a node out of its network: Networked
	Promotions  Ability = "promotion"  // make a replica a master: Replica
	Replication Ability = "replicas"   // nodes with replicas
	Sentinelled Ability = "sentinels"  // Sentinels that watch a node: Sentinels
	Supervision Ability = "supervisor" // start a node again that has died: Supervised
)
