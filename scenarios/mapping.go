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

// entries returns the entries of a mapping in file order. It reports duplicate keys and omits them.
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

// reader reads the value of a key; what names the key in reports.
type reader func(d *decoder, n ast.Node, what string)

// set stores the value of a key.
func set[T any](into *T, read value[T]) reader {
	return func(d *decoder, n ast.Node, what string) { *into = read(d, n, what) }
}

// as gives the key another name in reports.
func (r reader) as(what string) reader {
	return func(d *decoder, n ast.Node, _ string) { r(d, n, what) }
}

// definesNames marks a key that defines nodes or clients: if its value is invalid, unknown names are not reported.
func definesNames(r reader) reader {
	return func(d *decoder, n ast.Node, what string) {
		before := len(d.problems)
		r(d, n, what)
		d.unresolved = d.unresolved || len(d.problems) > before
	}
}

// field is a key of a mapping. The text needed, unless "", makes it required and explains it.
type field struct {
	name   string
	needed string
	read   reader
}

// fields reads a mapping with the given fields. It reads them in the given order, not in file order, so that later
// fields can depend on earlier ones. It returns the positions of the keys found.
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
