package scenarios

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/internal/suggest"
)

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	at    *token.Position
	value ast.Node
}

// entries returns what a mapping holds, in the order of the file. A key that
// comes again is reported and left out.
func (d *decoder) entries(n ast.Node, what, want string) []entry {
	mapping, ok := n.(*ast.MappingNode)
	if !ok {
		d.mismatch(n, what, want)
		return nil
	}
	var entries []entry
	lines := map[string]int{}
	for _, v := range mapping.Values {
		e := entry{v.Key.GetToken().Value, position(v.Key), v.Value}
		if v.Key.Type() == ast.MappingKeyType || v.Key.Type() == ast.MergeKeyType {
			d.report(e.at, fmt.Sprintf("the YAML key %q is not supported", e.key), "write plain `key: value`")
			continue
		}
		if line, again := lines[e.key]; again {
			d.report(e.at, fmt.Sprintf("duplicate key %q", e.key), fmt.Sprintf("the first is on line %d", line))
			continue
		}
		lines[e.key] = e.at.Line
		entries = append(entries, e)
	}
	return entries
}

// reader takes the value of a key, which it calls what in a report.
type reader func(d *decoder, n ast.Node, what string)

// set puts the value of a key where it belongs.
func set[T any](into *T, read value[T]) reader {
	return func(d *decoder, n ast.Node, what string) { *into = read(d, n, what) }
}

// as calls the key by another name in reports.
func (r reader) as(what string) reader {
	return func(d *decoder, n ast.Node, _ string) { r(d, n, what) }
}

// named marks what gives nodes or clients their names: if it is wrong, names that then seem not to exist may be right.
func named(r reader) reader {
	return func(d *decoder, n ast.Node, what string) {
		before := len(d.problems)
		r(d, n, what)
		d.unresolved = d.unresolved || len(d.problems) > before
	}
}

// field is one key that a mapping may hold. Needed, if set, makes the key required and says what it is for.
type field struct {
	name   string
	needed string
	read   reader
}

// fields reads a mapping with the given fields. They are read in the order
// given here, whatever their order in the file, so that later ones can rest on
// earlier ones. It returns those that were there, with their places.
func (d *decoder) fields(n ast.Node, what string, fields []field) map[string]*token.Position {
	entries := d.entries(n, what, "a mapping with keys such as "+fields[0].name)
	places := map[string]*token.Position{}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		i := slices.IndexFunc(entries, func(e entry) bool { return e.key == f.name })
		switch {
		case i >= 0:
			places[f.name] = entries[i].at
			f.read(d, entries[i].value, f.name)
		case f.needed != "" && n.Type() == ast.MappingType:
			d.report(position(n), fmt.Sprintf("%s has no %s", what, f.name), fmt.Sprintf("add `%s:`, %s", f.name, f.needed))
		}
	}
	for _, e := range entries {
		if places[e.key] == nil {
			d.report(e.at, fmt.Sprintf("%s has no key %q", what, e.key), suggest.Instead(e.key, names, "its keys are"))
		}
	}
	return places
}
