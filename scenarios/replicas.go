package scenarios

import (
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml/ast"
)

// replicaName is the form of replicas' names.
var replicaName = regexp.MustCompile(`^r[1-9]$`)

// readReplicas reads the servers that replicate a node.
func (d *decoder) readReplicas(n ast.Node) {
	before := len(d.problems)
	d.s.Replicas = map[string]string{}
	for _, e := range d.entries(n, "replicas", "a mapping of replica to master, as in {r1: n1}") {
		if !replicaName.MatchString(e.key) {
			d.report(e.at, fmt.Sprintf("%q is not in the form of replicas' names", e.key), "they are r1 to r9")
			continue
		}
		master := d.word(e.value, "the master of "+e.key, d.s.Nodes, "nodes")
		if server := d.s.Aliases[master]; server != "" {
			d.report(position(e.value), fmt.Sprintf("the master of %s has no server of its own: it stands for %s", e.key, server), "name "+server)
		}
		d.s.Replicas[e.key] = master
	}
	d.vague = d.vague || len(d.problems) > before
}
