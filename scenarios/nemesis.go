package scenarios

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"lockproof/harness/cluster"
)

// random says what a fault takes in a schedule, beside among, count and every.
// Faults that last take `for`, which says after how long they end: a node that
// was killed is then started, a clock runs at the true rate again.
type random struct {
	targets  Targets
	required []string
	optional []string
}

// randoms are the faults that a schedule can draw. Clients are not killed by
// it, for they do not come back.
var randoms = map[Verb]random{
	VerbKill:      {Nodes, []string{"for"}, nil},
	VerbShutdown:  {Nodes, []string{"for"}, nil},
	VerbPowerLoss: {Nodes, []string{"for"}, nil},
	VerbPause:     {Clients | Loops | Nodes, []string{"for"}, nil},
	VerbCut:       {Links, []string{"for"}, []string{"direction"}},
	VerbDelay:     {Links, []string{"for", "by"}, []string{"direction"}},
	VerbClock:     {Clients | Loops | Nodes, nil, []string{"for", "jump", "rate"}},
	VerbFlush:     {Nodes, nil, nil},
}

// randomNames lists them in the order of Docs.
func randomNames() []string {
	var names []string
	for _, u := range Docs {
		if _, ok := randoms[u.Verb]; ok {
			names = append(names, string(u.Verb))
		}
	}
	return names
}

// randomKeys are all keys of a fault in a schedule.
var randomKeys = []string{"fault", "among", "count", "every", "for", "direction", "by", "jump", "rate"}

func (d *decoder) readNemesis(n ast.Node) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		d.mismatch(n, "nemesis", "a list of faults, as in `- {fault: pause, among: [n1, n2], every: 2 ttl, for: 1 ttl}`")
		return
	}
	for _, element := range list.Values {
		d.s.Nemesis = append(d.s.Nemesis, d.random(element))
	}
}

// random reads one kind of fault in the schedule.
func (d *decoder) random(n ast.Node) Random {
	r := Random{Count: 1}
	places := d.fields(n, "a fault of the nemesis", []field{
		{"fault", "what it does, as in `fault: pause`", func(n ast.Node) {
			r.Fault = Verb(d.word(n, "fault", randomNames(), "faults that can be drawn"))
		}},
		{"among", "the targets to draw from, as in `among: [n1, n2, n3]`", func(n ast.Node) {
			if use, ok := randoms[r.Fault]; ok {
				r.Among = d.targets(n, "among", use.targets)
			}
		}},
		{"every", "how long from one to the next, as in `every: [1 ttl, 3 ttl]`", func(n ast.Node) { r.Every = d.spans(n, "every") }},
		{"count", "", func(n ast.Node) { r.Count = d.count(n, r.Among) }},
		{"for", "", func(n ast.Node) { r.For = d.spans(n, "for") }},
		{"direction", "", func(n ast.Node) { r.Direction = d.direction(n) }},
		{"by", "", func(n ast.Node) { r.By = d.span(n, "by", positive) }},
		{"jump", "", func(n ast.Node) { r.Jump = d.jump(n) }},
		{"rate", "", func(n ast.Node) { r.Rate = d.rate(n) }},
	})
	if use, ok := randoms[r.Fault]; ok {
		d.checkRandom(position(n), r, use, places)
	}
	if r.Direction == "" && (r.Fault == VerbCut || r.Fault == VerbDelay) {
		r.Direction = cluster.Both
	}
	return r
}

// count reads how many targets are hit at once.
func (d *decoder) count(n ast.Node, among []string) int {
	count := d.integer(n, "count", 1, 1000)
	if len(among) > 0 && count > len(among) {
		d.report(position(n), fmt.Sprintf("count is %d, of %d targets", count, len(among)), fmt.Sprintf("it must be at most %d", len(among)))
	}
	return count
}

// checkRandom holds a fault to the keys that it takes.
func (d *decoder) checkRandom(at *token.Position, r Random, use random, places map[string]*token.Position) {
	always := []string{"fault", "among", "every", "count"}
	allowed := slices.Concat(always, use.required, use.optional)
	for _, key := range randomKeys {
		if place := places[key]; place != nil && !slices.Contains(allowed, key) {
			d.report(place, fmt.Sprintf("a random %s takes no %q", r.Fault, key), d.instead(key, use.targets, allowed[1:]))
		}
	}
	for _, key := range use.required {
		if places[key] == nil {
			d.report(at, fmt.Sprintf("a random %s has no %q", r.Fault, key), fmt.Sprintf("add it, as in `%s: 1 ttl`", key))
		}
	}
	if r.Fault != VerbClock {
		return
	}
	if places["jump"] == nil && places["rate"] == nil {
		d.report(at, "a random clock has neither jump nor rate", "say how it goes wrong: `jump: -1 ttl` or `rate: 0.8`")
	}
	switch span, rate := places["for"], places["rate"]; {
	case span != nil && rate == nil:
		d.report(span, "a jump has no end, so that `for` has no meaning", "leave it out, or give a rate, which then ends")
	case span == nil && rate != nil:
		d.report(rate, "the clock's rate has no end", "say for how long it runs wrong, as in `for: 2 ttl`")
	}
}
