package deploy

import (
	"maps"

	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/validate/settings"
)

// lines has the line of a value, and those of its parts by key or index: where they are written, behind aliases and
// merged mappings.
type lines struct {
	line  int
	block bool // it begins below its key, which is where it is
	parts map[any]lines
}

// part is that of a key or an index. What is not there is where its mapping is.
func (l lines) part(step any) lines {
	if inner, found := l.parts[step]; found {
		return inner
	}
	return lines{line: l.line}
}

// at is the place of the item at a path, or of its nearest existing ancestor.
func (d item) at(path ...any) settings.Place {
	l := d.lines
	for _, step := range path {
		l = l.part(step)
	}
	return settings.Place{File: d.file, Line: l.line}
}

// lineReader reads the lines of a document, in its order: an alias is the last anchor before it.
type lineReader struct {
	above   int // lines of the file before the document
	anchors map[string]lines
}

func (r *lineReader) read(node ast.Node) (l lines) {
	switch n := node.(type) {
	case nil:
		return l
	case *ast.AnchorNode:
		l = r.read(n.Value)
		r.anchors[n.Name.GetToken().Value] = l
		return l
	case *ast.AliasNode:
		return r.anchors[n.Value.GetToken().Value]
	case *ast.TagNode:
		return r.read(n.Value)
	case *ast.MappingNode:
		return r.mapping(node, n.Values, !n.IsFlowStyle)
	case *ast.MappingValueNode:
		return r.mapping(node, []*ast.MappingValueNode{n}, true)
	case *ast.SequenceNode:
		l = lines{block: !n.IsFlowStyle, parts: map[any]lines{}}
		for i, value := range n.Values {
			l.parts[i] = r.read(value)
		}
	}
	l.line = r.line(node)
	return l
}

func (r *lineReader) line(node ast.Node) int {
	if token := node.GetToken(); token != nil {
		return r.above + token.Position.Line
	}
	return 0
}

// mapping reads pairs in the order in which they were decoded: merges first, and the last of a key counts.
func (r *lineReader) mapping(node ast.Node, pairs []*ast.MappingValueNode, block bool) lines {
	l := lines{line: r.line(node), block: block, parts: map[any]lines{}}
	for _, p := range pairs {
		key, value := r.line(p.Key), r.read(p.Value)
		if block { // its token is the colon of its first pair
			l.line = min(l.line, key)
		}
		if p.Key.IsMergeKey() {
			maps.Copy(l.parts, value.parts)
			for i := range len(value.parts) { // of a list of mappings
				maps.Copy(l.parts, value.parts[i].parts)
			}
			continue
		}
		if value.block || value.line == 0 {
			value.line = key
		}
		l.parts[p.Key.GetToken().Value] = value
	}
	return l
}
