package scenarios

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// randomDeclaration returns the declaration of a fault that a schedule can draw, or nil.
func randomDeclaration(fault Verb) *nemesis.Declaration {
	if d := nemesis.Find(string(fault)); d != nil && d.Draw != nil {
		return d
	}
	return nil
}

// randomVerbs lists the faults that a schedule can draw.
func randomVerbs() []Verb {
	var names []Verb
	for _, d := range nemesis.Declarations() {
		if d.Draw != nil {
			names = append(names, Verb(d.Kind))
		}
	}
	return names
}

func (d *decoder) randomFaults(n ast.Node, what string) (faults []Random) {
	for _, element := range d.elements(n, what,
		"a list of faults, for example `- {fault: pause, among: [n1, n2], every: 2 ttl, for: 1 ttl}`") {
		faults = append(faults, d.random(element))
	}
	return faults
}

func (d *decoder) random(n ast.Node) Random {
	r := Random{Count: 1}
	places := d.fields(n, "a fault of the nemesis", []field{
		{"fault", "what it does, for example `fault: pause`",
			set(&r.Verb, oneOf("faults that can be drawn", randomVerbs()...))},
		{"among", "the targets to draw from, for example `among: [n1, n2, n3]`",
			func(d *decoder, n ast.Node, what string) {
				if fault := randomDeclaration(r.Verb); fault != nil {
					r.Targets = d.targets(n, what, fault.RandomTargets())
				}
			}},
		{"every", "how long from one to the next, for example `every: [1 ttl, 3 ttl]`", set(&r.Every, (*decoder).spans)},
		{"count", "", func(d *decoder, n ast.Node, _ string) { r.Count = d.count(n, r.Targets) }},
		{"for", "", set(&r.Lasts, (*decoder).spans)},
		{"direction", "", set(&r.Direction, direction)},
		{"by", "", set(&r.By, positive.span)},
		{"jump", "", set(&r.Jump, (*decoder).jump)},
		{"rate", "", set(&r.Rate, rate)},
	})
	if fault := randomDeclaration(r.Verb); fault != nil {
		d.checkRandom(position(n), r, fault, places)
		if slices.Contains(fault.Draw.Optional, "direction") && r.Direction == "" {
			r.Direction = history.Both
		}
	}
	return r
}

// count reads the number of targets that one fault affects.
func (d *decoder) count(n ast.Node, among []string) int {
	count := integer(1, 1000)(d, n, "count")
	if len(among) > 0 && count > len(among) {
		d.report(position(n), fmt.Sprintf("count is %d, of %d targets", count, len(among)),
			fmt.Sprintf("want at most %d", len(among)))
	}
	return count
}

// checkRandom reports keys that a random fault does not accept or lacks.
func (d *decoder) checkRandom(at *token.Position, r Random, fault *nemesis.Declaration,
	places map[string]*token.Position) {
	always := []string{"fault", "among", "every", "count"}
	allowed := slices.Concat(always, fault.Draw.Required, fault.Draw.Optional)
	for key, place := range places {
		if !slices.Contains(allowed, key) {
			d.report(place, fmt.Sprintf("a random %s does not accept %q", r.Verb, key),
				d.suggestModifier(key, fault.RandomTargets(), allowed[1:]))
		}
	}
	d.checkRequired("a random "+string(r.Verb), fault.Draw.Required, at, places)
	d.checkUse(string(r.Verb), nemesis.Use{Random: true, Delay: r.By.In(d.s.TTL)}, at, places)
}
