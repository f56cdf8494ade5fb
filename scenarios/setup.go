package scenarios

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
)

// lock reads a lock and its options; what it does not set stays as in l.
func (d *decoder) lock(n ast.Node, l Lock) Lock {
	places := d.fields(n, "lock", []field{
		{"name", "", func(n ast.Node) { l.Name = d.keyword(n, "lock", lockNames(), "locks") }},
		{"node-timeout", "", func(n ast.Node) { l.NodeTimeout = d.span(n, "node-timeout", positive) }},
		{"drift", "", func(n ast.Node) {
			drift := d.number(n, "drift", 0, 0.9)
			l.Drift = &drift
		}},
		{"tries", "", func(n ast.Node) { l.Tries = d.integer(n, "tries", 1, maxTries) }},
		{"retry", "", func(n ast.Node) {
			r := d.spans(n, "retry")
			l.RetryMin, l.RetryMax = r.Min, r.Max
		}},
		{"max-extensions", "", func(n ast.Node) { l.MaxExtensions = d.integer(n, "max-extensions", 1, 1_000_000) }},
		{"pool", "", func(n ast.Node) { l.Pool = d.integer(n, "pool", 1, maxPool) }},
		{"resends", "", func(n ast.Node) { l.Resends = d.integer(n, "resends", 0, maxResends) }},
		{"wait", "", func(n ast.Node) { l.Wait = d.integer(n, "wait", 0, maxNodes) }},
		{"wait-aof", "", func(n ast.Node) { l.WaitAOF = d.boolean(n, "wait-aof") }},
		{"connection", "", func(n ast.Node) {
			l.Connection = locks.Connection(d.keyword(n, "connection", connections, "connections"))
		}},
	})
	if at := places["connection"]; at != nil && !l.WaitsForReplicas() {
		d.report(at, "the lock waits for no replica, so that it needs no connection for it",
			"add `wait: 1` or `wait-aof: true`, or remove `connection`")
	}
	return l
}

// connections are the connections on which a lock can send WAIT or WAITAOF.
var connections = []string{string(locks.ConnectionOne), string(locks.ConnectionPool)}

// readClients reads the clients: how many (c1 to cN), their names, or a mapping
// of names to what is special about them.
func (d *decoder) readClients(n ast.Node) {
	before := len(d.problems)
	switch n := n.(type) {
	case *ast.IntegerNode:
		for _, name := range numbered("c", d.integer(n, "clients", 1, maxClients)) {
			d.s.Clients = append(d.s.Clients, Client{Name: name})
		}
	case *ast.MappingNode:
		for _, e := range d.entries(n, "clients", "") {
			d.checkClientName(e)
			d.s.Clients = append(d.s.Clients, d.client(e))
		}
	case *ast.SequenceNode:
		for _, element := range d.list(n, "clients") {
			name := d.text(element, "the name of a client")
			d.checkClientName(entry{name, position(element), element})
			d.s.Clients = append(d.s.Clients, Client{Name: name})
		}
	default:
		d.mismatch(n, "clients", "their number, a list of names, or a mapping such as {c1: {reach: [n1, n2, n3]}}")
	}
	d.unresolved = d.unresolved || len(d.problems) > before
}

var (
	clientName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	otherNames = regexp.MustCompile(`^([nrswk][0-9]+|store|sentinel|nemesis|harness)$`)
)

func (d *decoder) checkClientName(e entry) {
	switch {
	case e.key == "":
	case !clientName.MatchString(e.key):
		d.report(e.at, fmt.Sprintf("invalid client name %q", e.key), "want a letter, then letters and digits, for example c1")
	case otherNames.MatchString(e.key):
		d.report(e.at, fmt.Sprintf("reserved client name %q", e.key),
			"n1, r1, s1, w1 and k1 are nodes, replicas, Sentinels, workload clients and keys, and store, "+
				"sentinel, nemesis and harness are names of the harness: use c1, c2, ...")
	case slices.Contains(d.clientNames(), e.key):
		d.report(e.at, fmt.Sprintf("duplicate client %s", e.key), "give each its own name")
	}
}

// clientNames lists the clients of the script.
func (d *decoder) clientNames() []string {
	names := make([]string, len(d.s.Clients))
	for i, c := range d.s.Clients {
		names[i] = c.Name
	}
	return names
}

// client reads one client of the mapping form.
func (d *decoder) client(e entry) Client {
	c := Client{Name: e.key}
	of := func(key string) string { return key + " of " + e.key }
	nodes := func(key string, into *[]string) field {
		return field{key, "", func(n ast.Node) { *into = d.keywords(n, of(key), d.s.Servers(), "nodes") }}
	}
	places := d.fields(e.value, "the client "+e.key, []field{
		nodes("reach", &c.Reach), nodes("nodes", &c.Nodes), nodes("far", &c.FarNodes),
		{"far-delay", "", func(n ast.Node) { c.FarDelay = d.span(n, of("far-delay"), positive) }},
		{"ttl", "", func(n ast.Node) { c.TTL = d.span(n, of("ttl"), positive) }},
		{"key-prefix", "", func(n ast.Node) { c.KeyPrefix = d.text(n, of("key-prefix")) }},
		{"wait", "", func(n ast.Node) {
			wait := d.integer(n, of("wait"), 0, maxNodes)
			c.Wait = &wait
		}},
	})
	if places["far"] != nil && places["far-delay"] == nil {
		d.report(places["far"], e.key+" has far nodes and no far-delay", "add how far they are: `far-delay: 0.2 ttl`")
	}
	if places["far-delay"] != nil && places["far"] == nil {
		d.report(places["far-delay"], e.key+" has a far-delay and no far nodes", "add the nodes: `far: [n4, n5]`")
	}
	return c
}

func (d *decoder) readWorkload(n ast.Node) { d.s.Workload = d.workload(n) }

func (d *decoder) workload(n ast.Node) *Workload {
	before := len(d.problems)
	w := &Workload{Keys: 1, Threads: 1, Hold: Span{TTLs: 0.1}, Think: Span{TTLs: 0.1}}
	d.fields(n, "the workload", []field{
		{"clients", "how many clients loop: w1 to wN",
			func(n ast.Node) { w.Clients = d.integer(n, "clients", 1, maxClients) }},
		{"for", "how long the workload lasts, for example `for: 20 ttl`",
			func(n ast.Node) { w.For = d.span(n, "for", positive) }},
		{"threads", "", func(n ast.Node) { w.Threads = d.integer(n, "threads", 1, maxThreads) }},
		{"keys", "", func(n ast.Node) { w.Keys = d.integer(n, "keys", 1, maxKeys) }},
		{"hold", "", func(n ast.Node) { w.Hold = d.span(n, "hold", zeroOrMore) }},
		{"think", "", func(n ast.Node) { w.Think = d.span(n, "think", zeroOrMore) }},
	})
	d.unresolved = d.unresolved || len(d.problems) > before
	return w
}

// workloadNames lists the clients of the workload.
func (d *decoder) workloadNames() []string {
	if d.s.Workload == nil {
		return nil
	}
	return numbered("w", d.s.Workload.Clients)
}

// directions are the ways over a link.
var directions = []string{string(cluster.Both), string(cluster.ToNode), string(cluster.ToClient)}

func (d *decoder) direction(n ast.Node) cluster.Direction {
	return cluster.Direction(d.keyword(n, "direction", directions, "directions"))
}
