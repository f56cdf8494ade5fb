package deploy

import (
	"cmp"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/validate/settings"
)

// at is the place of the item at a path, or of its nearest existing ancestor: where it is written, behind aliases and
// merged mappings. A block is where its key is.
func (d item) at(path ...any) settings.Place {
	node, key := d.body, 0
	for _, step := range slices.Concat(d.path, path) {
		inner, line := ast.Node(nil), 0
		switch n := d.content(node).(type) {
		case *ast.SequenceNode:
			if i, isIndex := step.(int); isIndex && i < len(n.Values) {
				inner = n.Values[i]
			}
		case nil:
		default:
			if pair := d.pair(n, step, deepestMerge); pair != nil {
				inner, line = pair.Value, pair.Key.GetToken().Position.Line
			}
		}
		if inner == nil || inner.GetToken() == nil {
			break
		}
		node, key = inner, line
	}
	if line := d.line(node, key); line > 0 {
		return settings.Place{File: d.file, Line: d.above + line}
	}
	return settings.Place{File: d.file}
}

// deepestMerge bounds the mappings that each merge the next one.
const deepestMerge = 64

// line is a node's line, 0 for none; key is that of its key.
func (d item) line(node ast.Node, key int) int {
	inner, block := d.content(node), false
	switch n := inner.(type) {
	case nil:
		return 0
	case *ast.MappingNode:
		block = !n.IsFlowStyle
	case *ast.MappingValueNode:
		block = true
	case *ast.SequenceNode:
		block = !n.IsFlowStyle
	}
	if block && key > 0 || inner.GetToken() == nil {
		return key
	}
	line := inner.GetToken().Position.Line
	if block { // the token of a mapping is the colon of its first pair
		for _, p := range pairs(inner) {
			line = min(line, p.Key.GetToken().Position.Line)
		}
	}
	return line
}

func pairs(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// pair is a mapping's pair of a key, its own or a merged one, of which the first counts; nil for none.
func (d item) pair(mapping ast.Node, key any, depth int) *ast.MappingValueNode {
	all := pairs(mapping)
	for _, p := range all {
		if !p.Key.IsMergeKey() && p.Key.GetToken().Value == key {
			return p
		}
	}
	for _, p := range all {
		if !p.Key.IsMergeKey() || depth == 0 {
			continue
		}
		merged := []ast.Node{p.Value}
		if several, is := d.content(p.Value).(*ast.SequenceNode); is {
			merged = several.Values
		}
		for _, m := range merged {
			if found := d.pair(d.content(m), key, depth-1); found != nil {
				return found
			}
		}
	}
	return nil
}

// content is a node behind anchors, tags and aliases, nil for none.
func (d item) content(node ast.Node) ast.Node {
	for range deepestMerge {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		case *ast.AliasNode:
			node = d.anchor(n.Value.GetToken())
		default:
			return node
		}
	}
	return nil
}

// anchor is the node with an alias's name: the last one before the alias.
func (d item) anchor(alias *token.Token) (found ast.Node) {
	for _, n := range ast.Filter(ast.AnchorType, d.body) {
		a, is := n.(*ast.AnchorNode)
		if is && a.Name.GetToken().Value == alias.Value && before(a.Start.Position, alias.Position) {
			found = a.Value
		}
	}
	return found
}

func before(a, b *token.Position) bool {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) < 0
}
