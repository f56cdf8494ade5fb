package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

func (d *decoder) variants(n ast.Node, what string) (variants []Variant) {
	for _, element := range d.elements(n, what,
		"a list, for example `- {without: ElapsedCheck, expect: {mutual-exclusion: violated}}`") {
		v := d.variant(element)
		if slices.ContainsFunc(variants, func(other Variant) bool { return v.Name != "" && v.Name == other.Name }) {
			d.report(position(element), fmt.Sprintf("duplicate variant %q", v.Name), "give each its own `name:`")
		}
		variants = append(variants, v)
	}
	return variants
}

// variant reads one variant. Its lock, bounds and earned inherit the scenario's values.
func (d *decoder) variant(n ast.Node) Variant {
	var v Variant
	before := len(d.problems)
	places := d.fields(n, "the variant", []field{
		{"name", "", set(&v.Name, text)},
		{"nodes", "", set(&v.Nodes, integer(1, 1))},
		{"without", "", set(&v.Without, (*decoder).rules)},
		{"lock", "", set(&v.Lock, present(lockFrom(d.s.Lock)))},
		{"store", "", set(&v.Store, (*decoder).store)},
		{"persistence", "", set(&v.Persistence, persistence)},
		{"redis", "", set(&v.Redis, redisFrom(d.s.Redis))},
		{"workload", "", definesNames(set(&v.Workload, (*decoder).workload))},
		{"script", "", set(&v.Script, (*decoder).script)},
		{"bounds", "", set(&v.Bounds, boundsFrom(d.s.Bounds))},
		{"earned", "", set(&v.Earned, present(earnedFrom(d.s.Earned)))},
		{"expect", "", set(&v.Expect, (*decoder).expect)},
	})
	if n.Type() == ast.MappingType && len(d.problems) == before {
		d.checkVariant(position(n), &v, places)
	}
	return v
}

// rules reads names of the reference lock's rules.
func (d *decoder) rules(n ast.Node, what string) []string {
	var names []string
	for _, info := range redlock.Rules() {
		names = append(names, string(info.Rule))
	}
	return someOf("rules", names...)(d, n, what)
}

// checkVariant reports a variant without changes and a lock without rules to switch off, and sets the default name.
func (d *decoder) checkVariant(at *token.Position, v *Variant, places map[string]*token.Position) {
	changes := []string{"nodes", "without", "lock", "store", "persistence", "redis", "workload", "script"}
	if !slices.ContainsFunc(changes, func(key string) bool { return places[key] != nil }) {
		d.report(at, "the variant changes nothing", "give it one or more of "+strings.Join(changes, ", "))
		return
	}
	if v.Workload != nil && len(d.workloadNames()) != v.Workload.Clients {
		d.report(places["workload"], fmt.Sprintf("the variant's workload has %d clients, and the scenario's has %d",
			v.Workload.Clients, len(d.workloadNames())),
			"give both the same number: faults name the clients")
	}
	lock := d.s.Lock.Name
	if v.Lock != nil {
		lock = v.Lock.Name
	}
	if kind, err := locks.Find(lock); len(v.Without) > 0 && err == nil && !kind.Rules {
		d.report(places["without"], fmt.Sprintf("the lock %s has no rules to switch off", lock),
			"remove `without`, or use the lock redlock")
	}
	if v.Name == "" {
		v.Name = d.defaultName(v)
	}
	if v.Name == "" && places["name"] == nil {
		d.report(at, "the variant has no name, and its changes have no default name", "add `name:`, a few words")
	}
	if len(v.Name) > maxNameLength {
		d.report(at, fmt.Sprintf("the variant's name has %d bytes", len(v.Name)),
			fmt.Sprintf("add a `name:` of at most %d", maxNameLength))
	}
}

// defaultName is made of the variant's changes: "without ElapsedCheck".
func (d *decoder) defaultName(v *Variant) string {
	var parts []string
	if v.Nodes == 1 {
		parts = append(parts, "on one node")
	}
	if len(v.Without) > 0 {
		parts = append(parts, "without "+strings.Join(v.Without, ", "))
	}
	if v.Lock != nil && v.Lock.Name != d.s.Lock.Name {
		parts = append(parts, v.Lock.Name)
	}
	if v.Store != "" {
		parts = append(parts, "store checks "+string(v.Store))
	}
	if v.Persistence != "" {
		parts = append(parts, string(v.Persistence))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Redis)) {
		if v.Redis[name] != d.s.Redis[name] {
			parts = append(parts, name+" "+v.Redis[name])
		}
	}
	return strings.Join(parts, ", ")
}
