package scenarios

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/suggest"
	"example.org/lockproof/nemesis"
)

// targets reads the targets of a verb: one name or a list. It expands wildcards.
func (d *decoder) targets(n ast.Node, verb string, allowed nemesis.Targets) []string {
	var targets, given []string
	for _, element := range d.list(n, verb) {
		if element.Type() == ast.NullType {
			d.report(position(element), verb+" has no target",
				fmt.Sprintf("add one, for example `%s: %s`", verb, example(allowed)))
			continue
		}
		name := d.text(element, "the target of "+verb)
		if name == "" {
			continue
		}
		if slices.Contains(given, name) {
			d.report(position(element), fmt.Sprintf("%s lists %s twice", verb, name), "list it once")
			continue
		}
		given = append(given, name)
		for _, target := range d.resolve(element, name, verb, allowed) {
			if !slices.Contains(targets, target) {
				targets = append(targets, target)
			}
		}
	}
	return targets
}

// example is a target of an allowed kind.
func example(allowed nemesis.Targets) string {
	switch {
	case allowed&nemesis.Clients != 0:
		return "c1"
	case allowed&nemesis.Links != 0:
		return "c1-n3"
	case allowed == nemesis.Replicas:
		return "r1"
	default:
		return "n3"
	}
}

// resolve expands a target's name, or reports that it is unknown or of the wrong kind.
func (d *decoder) resolve(n ast.Node, name, verb string, allowed nemesis.Targets) []string {
	of, found := d.kindOf(name)
	switch {
	case of.kind == nemesis.Links && allowed&nemesis.Links != 0:
		return d.links(n, name, verb)
	case found && allowed.Accepts(of.kind):
		return []string{name}
	case found && of.kind == nemesis.Loops && allowed&nemesis.Clients != 0:
		d.report(position(n), fmt.Sprintf("%s is a client of the workload, and is busy with its loop", name),
			fmt.Sprintf("%s accepts clients of the script: name them under `clients:`", verb))
	case found:
		d.report(position(n), fmt.Sprintf("%s: %s is a %s", verb, name, of.singular),
			fmt.Sprintf("it accepts %s, for example `%s: %s`", acceptsText(allowed), verb, example(allowed)))
	case !d.unresolved:
		d.report(position(n), fmt.Sprintf("%s: unknown target %q", verb, name),
			suggest.Instead(name, d.names(allowed), "it accepts "+acceptsText(allowed)+":"))
	}
	return nil
}

// targetKind is a kind of targets with its singular noun and its names; for links, example names.
type targetKind struct {
	kind     nemesis.Targets
	singular string
	names    []string
}

func (d *decoder) targetKinds() []targetKind {
	return []targetKind{
		{nemesis.Clients, "client", d.clientNames()},
		{nemesis.Loops, "client", d.workloadNames()},
		{nemesis.Nodes, "node", d.s.Nodes},
		{nemesis.Replicas, "replica", slices.Sorted(maps.Keys(d.s.Replicas))},
		{nemesis.Links, "link", []string{"c1-n3", "c1-store", `"c1-*"`, `"*-n3"`}},
	}
}

// kindOf finds the kind of a name; a hyphen marks a link.
func (d *decoder) kindOf(name string) (of targetKind, found bool) {
	_, isLink := history.LinkOf(name)
	for _, of := range d.targetKinds() {
		if slices.Contains(of.names, name) || of.kind == nemesis.Links && isLink {
			return of, true
		}
	}
	return targetKind{}, false
}

// names lists the targets of the allowed kinds, for suggestions.
func (d *decoder) names(allowed nemesis.Targets) []string {
	var names []string
	for _, of := range d.targetKinds() {
		if allowed.Accepts(of.kind) {
			names = append(names, of.names...)
		}
	}
	return names
}

// links expands a link or a wildcard: "c1-*" is c1's links to every node of the lock, without the store; "*-n3" is
// every client's link to n3. A replica has a link to its master, r1-n1, and all Sentinels share one to each server.
func (d *decoder) links(n ast.Node, name, verb string) []string {
	link, _ := history.LinkOf(name)
	from, to := link.From, link.To
	sentinels := numbered("s", d.s.Sentinels)
	fromSentinels := len(sentinels) > 0 && from == cluster.SentinelsName
	toSentinels := len(sentinels) > 0 && to == cluster.SentinelsName
	master := d.s.Replicas[from]
	switch {
	case master != "" && to != master:
		d.report(position(n), fmt.Sprintf("link %s: a replica has a link to its master only", name),
			"write "+from+"-"+master)
		return nil
	case (master != "" || fromSentinels || toSentinels || slices.Contains(sentinels, to)) && interceptsMessages(verb):
		d.report(position(n), fmt.Sprintf("%s: the link %s carries no client's commands", verb, name), "cut or delay it")
		return nil
	case master != "":
		return []string{name}
	}
	clients := []string{from}
	if !fromSentinels {
		clients = d.checkLinkEnd(n, name, from, append(d.clientNames(), d.workloadNames()...), "client", "clients")
	}
	servers := d.s.Servers()
	switch {
	case fromSentinels:
		servers = d.checkLinkEnd(n, name, to, servers, "node", "nodes")
	case toSentinels:
		servers = sentinels
	case to == "*":
		servers = d.s.Nodes
	default:
		servers = d.checkLinkEnd(n, name, to, slices.Concat(servers, []string{history.StoreName}, sentinels), "node", "nodes")
	}
	var links []string
	for _, c := range clients {
		for _, s := range servers {
			links = append(links, history.Link{From: c, To: s}.Target())
		}
	}
	return links
}

// interceptsMessages reports whether a verb acts on single commands or replies.
func interceptsMessages(verb string) bool {
	u, _ := usage(Verb(verb))
	return slices.Contains(u.Required, "of")
}

// checkLinkEnd resolves one end of a link.
func (d *decoder) checkLinkEnd(n ast.Node, link, name string, among []string, kind, plural string) []string {
	if name == "*" {
		return among
	}
	if slices.Contains(among, name) {
		return []string{name}
	}
	if !d.unresolved {
		d.report(position(n), fmt.Sprintf("link %s: unknown %s %q", link, kind, name),
			suggest.Instead(name, among, fmt.Sprintf("a link is client-node, and the %s are", plural)))
	}
	return nil
}
