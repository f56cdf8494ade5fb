package scenarios

import "embed"

//go:embed *.yaml
var files embed.FS

// catalogueFolder is the prefix of Scenario.File in the catalogue.
const catalogueFolder = "scenarios/"

// catalogueOrder lists the scenarios' files, from the healthy cluster to the operator's mistakes, related failures side
// by side.
var catalogueOrder = []string{
	// Healthy.
	"healthy-contention", "minority-down", "majority-down", "holder-crashes", "waiter-crashes", "opposite-order",
	// Kleppmann's scenarios, and the answers.
	"client-pause", "client-pause-fenced", "pause-after-check", "delayed-write", "clock-jump-forward",
	"pause-in-acquire", "slow-acquire", "clock-jump-back", "fast-servers", "slow-client-clock",
	"slow-client-within-margin", "drift-within-margin", "client-wall-clock", "token-check-and-set", "fencing-needs-order",
	"fencing-counter-lost", "fencing-counters-diverge", "fencing-token-too-early", "fencing-same-instant",
	"fencing-counter-expires", "fencing-store-unaware",
	// Restarts and disks.
	"restart-without-persistence", "delayed-restart", "restart-delay-too-short", "restart-delay-mixed-ttls",
	"supervisor-restarts-at-once", "rolling-restart", "majority-crash-delayed", "aof-everysec-sigkill",
	"aof-everysec-power-loss", "aof-always-power-loss", "aof-no-fsync", "aof-everysec-slow-fsync",
	"aof-always-rewrite", "rdb-only", "clean-shutdown-aof", "clean-shutdown-nothing", "expired-while-down",
	"boot-clock-ahead", "boot-clock-behind", "disk-full",
	// Replication.
	"failover-lock", "failover-wait", "waitaof", "empty-master-restart", "sentinel-partition", "stale-primary",
	"slot-moves",
	// Network, retries, quorums.
	"partition-during-contention", "holder-partitioned", "node-disconnected", "demoted-nodes", "hung-node", "lost-reply",
	"resent-set", "take-retried", "late-set", "late-release",
	"retry-without-jitter", "sequential-acquire", "half-is-not-majority", "one-node-twice", "different-node-lists",
	"mixed-versions",
	"cancelled-acquire", "cancelled-wait", "missed-wake-up", "script-busy", "script-blocks", "script-cache-lost",
	// Conditions in services: threads, small pools, short TTLs.
	"shared-lock-object", "shared-contention", "pool-of-one", "short-ttl", "owner-by-thread", "two-level", "fail-open",
	// A client that stops or dies between any two of its messages.
	"stopped-in-acquire", "stopped-in-extend", "stopped-in-release", "killed-in-acquire",
	// Release and extension.
	"release-by-plain-del", "release-by-get-then-del", "guessable-token", "setnx-then-expire",
	"extend-without-owner", "extend-on-minority", "extend-too-late", "extend-after-another",
	"endless-extension", "late-extension",
	"cancelled-release", "release-retried", "renewal-outlives-release", "quorum-erosion", "watchdog-cut-off",
	"late-renewal", "renewal-answered-late", "starved-watchdog", "single-instance-down",
	// Memory and operators.
	"eviction", "out-of-memory", "flushall", "reaper", "maintenance-restart",
	// Redis Cluster, and a guard against restarts.
	"redis-cluster-failover", "redis-cluster-one-slot", "redis-cluster-slots", "restart-guard",
}

// Catalogue returns every scenario of the catalogue, in its order. Each call parses the files again, so that a caller
// may change the result.
func Catalogue() ([]*Scenario, error) {
	var all []*Scenario
	for _, name := range catalogueOrder {
		text, err := files.ReadFile(name + ".yaml")
		if err != nil {
			return nil, err
		}
		s, err := Parse(catalogueFolder+name+".yaml", text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
