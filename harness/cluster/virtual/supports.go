package virtual

import (
	"slices"
	"strings"

	"lockproof/harness/cluster"
)

// faults are what the cluster can do, by the names of history.Fault.Kind.
var faults = []string{
	"kill", "shutdown", "power-loss", "start", "pause", "resume", "clock", "flush",
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
	{"replica", "its nodes do not replicate"},
	{"failover", "its nodes do not replicate"},
	{"promot", "its nodes do not replicate"},
	{"sentinel", "its nodes do not replicate"},
}

// Supports says whether the cluster can do a fault.
func (c *Cluster) Supports(fault string) error {
	if slices.Contains(faults, fault) {
		return nil
	}
	u := &cluster.Unsupported{Cluster: c.Kind(), Fault: fault, Why: "it knows no such fault", How: "it can do " + strings.Join(faults, ", ")}
	for _, b := range beyond {
		if strings.Contains(fault, b.word) {
			u.Why, u.How = b.why, "run it with --on local or --on docker"
			break
		}
	}
	return u
}
