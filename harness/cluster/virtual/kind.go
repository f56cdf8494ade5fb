package virtual

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/virtual/bubble"
)

// Name is this kind's name.
const Name = "virtual"

// Kind is the kind of clusters in memory and in virtual time.
var Kind = cluster.Kind{
	Name: Name,
	Needs: []cluster.Need{{
		Name: "Go", Find: func(context.Context) (string, error) { return runtime.Version() + ", built in", nil },
	}},
	Can: can,
	Serves: func(server string) error {
		return fmt.Errorf("the servers of the virtual cluster are in memory, and there is one kind: give it with --on docker or --on local")
	},
	Open: func(context.Context, cluster.Choice, io.Writer) (cluster.Maker, error) {
		return cluster.Separate(open), nil
	},
	Bubble:   bubble.Run,
	Parallel: func() int { return runtime.GOMAXPROCS(0) },
}

func open(_ context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	c, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// faults are what the cluster can do: scenarios' verbs, with the clock verb told
// apart by whose clock it is.
var faults = []string{
	"kill", "shutdown", "power-loss", "start", "pause", "resume", "node-clock", "client-clock", "flush",
	"cut", "heal", "delay", "hold", "lose", "drop", "let-go",
}

// beyond says why the cluster cannot do what real servers can, by a word that
// the fault's name contains.
var beyond = []struct{ word, why string }{
	{"fsync", "its disks are modelled, and their fsyncs neither stall nor fail"},
	{"rewrite", "its AOF is modelled and never rewritten"},
	{"disk", "its disks are modelled and never full"},
	{"evict", "its memory has no limit"},
	{"memory", "its memory has no limit"},
	{"fill", "its memory has no limit"},
	{"disconnect", "its nodes are in no network of their own: cut the links to the node instead"},
	{"supervisor", "its nodes have none: a script that starts a node at once is the same there"},
	{"replica", "its nodes do not replicate"},
	{"failover", "its nodes do not replicate"},
	{"promot", "its nodes do not replicate"},
	{"sentinel", "its nodes do not replicate"},
}

// can says whether a virtual cluster can do a fault: nil, or a
// *cluster.Unsupported.
func can(fault string) error {
	if slices.Contains(faults, fault) {
		return nil
	}
	u := &cluster.Unsupported{Cluster: Name, Fault: fault, Why: "it knows no such fault", How: "it can do " + strings.Join(faults, ", ")}
	for _, b := range beyond {
		if strings.Contains(fault, b.word) {
			u.Why, u.How = b.why, "run it with --on local or --on docker"
			break
		}
	}
	return u
}
