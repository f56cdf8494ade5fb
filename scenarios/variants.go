package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

func (d *decoder) readVariants(n ast.Node) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		d.mismatch(n, "variants", "a list, for example `- {without: ElapsedCheck, expect: {mutual-exclusion: violated}}`")
		return
	}
	for _, element := range list.Values {
		v := d.variant(element)
		if slices.ContainsFunc(d.s.Variants, func(other Variant) bool { return v.Name != "" && v.Name == other.Name }) {
			d.report(position(element), fmt.Sprintf("duplicate variant %q", v.Name), "give each its own `name:`")
		}
		d.s.Variants = append(d.s.Variants, v)
	}
}

// variant reads one variant. Its lock, bounds and earned begin as the
// scenario's, so that a variant says only what is different.
func (d *decoder) variant(n ast.Node) Variant {
	var v Variant
	before := len(d.problems)
	places := d.fields(n, "the variant", []field{
		{"name", "", func(n ast.Node) { v.Name = d.text(n, "name") }},
		{"nodes", "", func(n ast.Node) { v.Nodes = d.integer(n, "nodes", 1, 1) }},
		{"without", "", func(n ast.Node) { v.Without = d.keywords(n, "without", ruleNames(), "rules") }},
		{"lock", "", func(n ast.Node) {
			lock := d.lock(n, d.s.Lock)
			v.Lock = &lock
		}},
		{"store", "", func(n ast.Node) {
			store := d.store(n)
			v.Store = &store
		}},
		{"persistence", "", d.readPersistence(&v.Persistence)},
		{"redis", "", func(n ast.Node) { v.Redis = d.redis(n, d.s.Redis) }},
		{"workload", "", func(n ast.Node) { v.Workload = d.workload(n) }},
		{"script", "", func(n ast.Node) { v.Script = d.script(n) }},
		{"bounds", "", func(n ast.Node) {
			bounds := d.bounds(n, d.s.Bounds)
			v.Bounds = &bounds
		}},
		{"earned", "", func(n ast.Node) {
			earned := d.earned(n, d.s.Earned)
			v.Earned = &earned
		}},
		{"expect", "", func(n ast.Node) { v.Expect = d.expect(n) }},
	})
	if n.Type() == ast.MappingType && len(d.problems) == before {
		d.checkVariant(position(n), &v, places)
	}
	return v
}

// checkVariant sees that a variant changes something, that its lock has rules
// to switch off, and gives it a name if it has none.
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
	if len(v.Without) > 0 && lock != "" && !lockHasRules(lock) {
		d.report(places["without"], fmt.Sprintf("the lock %s has no rules to switch off", lock),
			"remove `without`, or use the lock redlock")
	}
	if v.Name == "" {
		v.Name = d.nameOf(v)
	}
	if v.Name == "" && places["name"] == nil {
		d.report(at, "the variant has no name, and none can be made of what it changes", "add `name:`, a few words")
	}
	if len(v.Name) > maxNameLength {
		d.report(at, fmt.Sprintf("the variant's name has %d bytes", len(v.Name)),
			fmt.Sprintf("add a `name:` of at most %d", maxNameLength))
	}
}

// nameOf makes a name of what a variant sets: "without ElapsedCheck".
func (d *decoder) nameOf(v *Variant) string {
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
	if v.Store != nil {
		parts = append(parts, "store checks "+string(v.Store.Check))
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
