package scenarios

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// lockFrom reads a lock and its options; unset ones keep their value in l.
func lockFrom(l Lock) value[Lock] {
	return func(d *decoder, n ast.Node, what string) Lock {
		retry := Range{l.RetryMin, l.RetryMax}
		places := d.fields(n, what, []field{
			{"name", "", set(&l.Name, oneOf("locks", locks.Names()...)).as(what)},
			{"node-timeout", "", set(&l.NodeTimeout, positive.span)},
			{"drift", "", set(&l.Drift, present(number(0.0001, 0.9)))},
			{"tries", "", set(&l.Tries, integer(1, maxTries))},
			{"retry", "", set(&retry, (*decoder).spans)},
			{"max-extensions", "", set(&l.MaxExtensions, integer(1, 1_000_000))},
			{"pool", "", set(&l.Pool, integer(1, maxPool))},
			{"resends", "", set(&l.Resends, integer(0, maxResends))},
			{"wait", "", set(&l.Wait, integer(0, maxNodes))},
			{"wait-aof", "", set(&l.WaitAOF, (*decoder).boolean)},
			{"connection", "", set(&l.Connection, oneOf("connections", locks.ConnectionOne, locks.ConnectionPool))},
		})
		l.RetryMin, l.RetryMax = retry.Min, retry.Max
		if at := places["connection"]; at != nil && !l.WaitsForReplicas() {
			d.report(at, "`connection` has no effect: the lock does not wait for replicas",
				"add `wait: 1` or `wait-aof: true`, or remove `connection`")
		}
		return l
	}
}

// clients reads the clients: their number (c1 to cN), a list of names, or a mapping of names to settings.
func (d *decoder) clients(n ast.Node, what string) (clients []Client) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		for _, name := range numbered("c", integer(1, maxClients)(d, n, what)) {
			clients = append(clients, Client{Name: name})
		}
	case *ast.MappingNode:
		for _, e := range d.entries(n, what, "") {
			d.checkClientName(e, clients)
			clients = append(clients, d.client(e))
		}
	case *ast.SequenceNode:
		for _, element := range d.list(n, what) {
			name := d.text(element, "the name of a client")
			d.checkClientName(entry{name, position(element), element}, clients)
			clients = append(clients, Client{Name: name})
		}
	default:
		d.mismatch(n, what, "their number, a list of names, or a mapping such as {c1: {reach: [n1, n2, n3]}}")
	}
	return clients
}

var (
	clientName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	otherNames = regexp.MustCompile(`^([nrswk][0-9]+|store|sentinel|nemesis|harness)$`)
)

func (d *decoder) checkClientName(e entry, before []Client) {
	switch {
	case e.key == "":
	case !clientName.MatchString(e.key):
		d.report(e.at, fmt.Sprintf("invalid client name %q", e.key), "want a letter, then letters and digits, for example c1")
	case otherNames.MatchString(e.key):
		d.report(e.at, fmt.Sprintf("reserved client name %q", e.key),
			"n1, r1, s1, w1 and k1 are nodes, replicas, Sentinels, workload clients and keys, and store, "+
				"sentinel, nemesis and harness are names of the harness: use c1, c2, ...")
	case slices.ContainsFunc(before, func(c Client) bool { return c.Name == e.key }):
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
	nodes := someOf("nodes", d.s.Servers()...)
	fields := []field{
		{"reach", "", set(&c.Reach, nodes)},
		{"nodes", "", set(&c.Nodes, nodes)},
		{"far", "", set(&c.FarNodes, nodes)},
		{"far-delay", "", set(&c.FarDelay, positive.span)},
		{"ttl", "", set(&c.TTL, positive.span)},
		{"key-prefix", "", set(&c.KeyPrefix, text)},
		{"wait", "", set(&c.Wait, present(integer(0, maxNodes)))},
	}
	for i, f := range fields {
		fields[i].read = f.read.as(f.name + " of " + e.key)
	}
	places := d.fields(e.value, "the client "+e.key, fields)
	if places["far"] != nil && places["far-delay"] == nil {
		d.report(places["far"], e.key+" has far nodes and no far-delay", "add how far they are: `far-delay: 0.2 ttl`")
	}
	if places["far-delay"] != nil && places["far"] == nil {
		d.report(places["far-delay"], e.key+" has a far-delay and no far nodes", "add the nodes: `far: [n4, n5]`")
	}
	return c
}

func (d *decoder) workload(n ast.Node, what string) *Workload {
	w := &Workload{Keys: 1, Threads: 1, Hold: Span{TTLs: 0.1}, Think: Span{TTLs: 0.1}}
	d.fields(n, "the "+what, []field{
		{"clients", "how many clients loop: w1 to wN", set(&w.Clients, integer(1, maxClients))},
		{"for", "how long the workload lasts, for example `for: 20 ttl`", set(&w.For, positive.span)},
		{"threads", "", set(&w.Threads, integer(1, maxThreads))},
		{"keys", "", set(&w.Keys, integer(1, maxKeys))},
		{"hold", "", set(&w.Hold, zeroOrMore.span)},
		{"think", "", set(&w.Think, zeroOrMore.span)},
	})
	return w
}

// workloadNames lists the clients of the workload.
func (d *decoder) workloadNames() []string {
	if d.s.Workload == nil {
		return nil
	}
	return numbered("w", d.s.Workload.Clients)
}

var direction = oneOf("directions", history.Both, history.ToNode, history.ToClient)
