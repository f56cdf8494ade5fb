package scenarios

import (
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml/ast"
)

var replicaName = regexp.MustCompile(`^r[1-9]$`)

func (d *decoder) replicas(n ast.Node, what string) map[string]string {
	replicas := map[string]string{}
	for _, e := range d.entries(n, what, "a mapping of replica to master, for example {r1: n1}") {
		if !replicaName.MatchString(e.key) {
			d.report(e.at, fmt.Sprintf("invalid replica name %q", e.key), "want r1 to r9")
			continue
		}
		master := oneOf("nodes", d.s.Nodes...)(d, e.value, "the master of "+e.key)
		if server := d.s.Aliases[master]; server != "" {
			d.report(position(e.value),
				fmt.Sprintf("the master of %s has no server of its own: it stands for %s", e.key, server), "name "+server)
		}
		replicas[e.key] = master
	}
	return replicas
}

const maxSentinels = 5

// sentinels reads the number of Sentinels of n1 and its replicas.
func (d *decoder) sentinels(n ast.Node, what string) int {
	count := integer(1, maxSentinels)(d, n, what)
	if len(d.s.Nodes) != 1 {
		d.report(position(n),
			fmt.Sprintf("sentinels: there are %d nodes, and Sentinels watch one master", len(d.s.Nodes)),
			"write `nodes: 1`")
	}
	if len(d.s.Replicas) == 0 {
		d.report(position(n), "sentinels: there is no replica to promote",
			"add one, for example `replicas: {r1: n1}`")
	}
	return count
}
