package virtual

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/bubble"
)

// Kind is the kind of clusters in memory and in virtual time.
var Kind = cluster.Kind{
	Name: cluster.Virtual,
	Needs: []cluster.Need{{
		Name: "Go", Find: func(context.Context) (string, error) { return runtime.Version() + ", built in", nil },
	}},
	Can:     can,
	Server:  strings.Join(ServerNames(), ", ") + ": whose commands they know (default: the first)",
	Servers: ServerNames(),
	Knows:   knows,
	Open: func(_ context.Context, choice cluster.Choice, _ io.Writer) (cluster.Maker, error) {
		r, err := findRelease(choice.Server)
		if err != nil {
			return nil, err
		}
		return cluster.Independent(func(_ context.Context, cfg cluster.Config) (cluster.Cluster, error) {
			its := r
			if choice.Server == "" {
				its = releaseFor(cfg.Commands)
			}
			c, err := newCluster(cfg, its)
			if err != nil {
				return nil, err
			}
			return c, nil
		}), nil
	},
	Bubble:   bubble.Run,
	Parallel: func() int { return runtime.GOMAXPROCS(0) },
}

// faults are what the cluster can do: scenarios' verbs, with the clock verb told
// apart by whose clock it is.
var faults = []string{
	"kill", "shutdown", "power-loss", "start", "pause", "resume", "busy", "block", "node-clock", "client-clock",
	"client-timers", "flush",
	"cut", "heal", "delay", "hold", "lose", "drop", "let-go", "replicas", "promote",
	cluster.MinReplicas, cluster.MinLag,
}

// useRealServers is where real servers are.
const useRealServers = "use --on local or --on docker"

// missingFaults says what real servers have and the cluster does not, by a word that the
// fault's name contains, and how to get it.
var missingFaults = []struct{ word, needs, how string }{
	{"fsync", "a disk whose fsyncs can stall or fail", useRealServers},
	{"rewrite", "an AOF that is rewritten", useRealServers},
	{"disk", "a disk that can be full", useRealServers},
	{"evict", "a limit on memory", useRealServers},
	{"memory", "a limit on memory", useRealServers},
	{"fill", "a limit on memory", useRealServers},
	{"disconnect", "nodes in a network of their own", "use --on docker, or cut the links to the node"},
	{"supervisor", "a supervisor", useRealServers + ", or a script that starts the node at once"},
	{"redis-cluster", "a Redis Cluster", "use --on local"},
	{"sentinel", "Sentinels", useRealServers + ", or a script that promotes the replica"},
}

// can says whether a virtual cluster can do a fault: nil, or a
// *cluster.Unsupported.
func can(fault string) error {
	if slices.Contains(faults, fault) {
		return nil
	}
	u := &cluster.Unsupported{Cluster: cluster.Virtual, Fault: fault, Why: "it knows no such fault",
		How: "it can do " + strings.Join(faults, ", ")}
	for _, b := range missingFaults {
		if strings.Contains(fault, b.word) {
			u.Needs, u.How = b.needs, b.how
			break
		}
	}
	return u
}
