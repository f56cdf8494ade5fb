package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// errShape is in the error for a text that is not edited, because it is written in a way
// in which more might change than is meant.
var errShape = errors.New("it is not written so that it can be edited safely")

func shape(why string) error { return fmt.Errorf("%w: %s", errShape, why) }

// Path leads from the root of a file's document to a value: keys of mappings, and places
// in lists, from 0. Document counts those of the file, from 0.
type Path struct {
	Document int
	Steps    []any // each a string or an int
}

// Below is the path of a value that is further down.
func (p Path) Below(steps ...any) Path { return Path{p.Document, slices.Concat(p.Steps, steps)} }

// Put gives a text with a value in place of what a path leads to, and all else as it is,
// comments and layout too. A value is a text, a whole number, or a list or a mapping of
// values. Where the last key is not there yet, it comes after the key of that name beside it.
func Put(data []byte, path Path, value any, after string) ([]byte, error) {
	tree, err := editable(data)
	if err != nil {
		return nil, err
	}
	node, err := walk(tree, path)
	var changed []byte
	switch {
	case err == nil:
		changed, err = replace(data, node, value)
	case errors.Is(err, errAbsent):
		changed, err = insert(data, tree, path, value, after)
	}
	if err != nil {
		return nil, err
	}
	return changed, onlyThat(data, changed, path, value)
}

// PutLine gives a text with the nth line, from 1, of a block (key: |) in place of the one
// that is there, or with a line more at the block's end where n is 0.
func PutLine(data []byte, path Path, n int, line string) ([]byte, error) {
	tree, err := editable(data)
	if err != nil {
		return nil, err
	}
	node, err := walk(tree, path)
	if err != nil {
		return nil, err
	}
	block, ok := node.(*ast.LiteralNode)
	if !ok || !strings.HasPrefix(block.Start.Value, "|") {
		return nil, shape("its text is no block that begins with |")
	}
	old := strings.Split(block.Value.Value, "\n")
	at := n
	if n == 0 {
		for at = len(old); at > 0 && strings.TrimSpace(old[at-1]) == ""; at-- {
		}
	}
	lines := strings.SplitAfter(string(data), "\n")
	row := block.Start.Position.Line + at - 1 // of lines, from 0
	if at < 1 || at > len(old) || row >= len(lines) || strings.TrimSpace(lines[row]) != strings.TrimSpace(old[at-1]) {
		return nil, shape("its lines are not where they seem to be")
	}
	indent := lines[row][:len(lines[row])-len(strings.TrimLeft(lines[row], " "))]
	if n == 0 {
		lines[row] = strings.TrimSuffix(lines[row], "\n") + "\n" + indent + line + strings.Repeat("\n", strings.Count(lines[row], "\n"))
		old = slices.Insert(old, at, line)
	} else {
		lines[row] = indent + line + strings.Repeat("\n", strings.Count(lines[row], "\n"))
		old[at-1] = line
	}
	changed := []byte(strings.Join(lines, ""))
	return changed, onlyThat(data, changed, path, strings.Join(old, "\n"))
}

// editable parses a text whose places can be relied on.
func editable(data []byte) (*ast.File, error) {
	if bytes.ContainsAny(data, "\r\t") || bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, shape("it has tabs, carriage returns or a mark of its bytes' order")
	}
	tree, wrong := Parse(data)
	if wrong != nil {
		return nil, wrong
	}
	return tree, nil
}

// errAbsent says that the mapping is there, and the last key of the path is not.
var errAbsent = errors.New("there is no such key")

// walk follows a path through the tree, and never through an alias, which stands for
// what is written elsewhere.
func walk(tree *ast.File, path Path) (ast.Node, error) {
	if path.Document >= len(tree.Docs) || len(path.Steps) == 0 {
		return nil, shape("there is no such document")
	}
	node := tree.Docs[path.Document].Body
	for i, step := range path.Steps {
		switch n := node.(type) {
		case *ast.MappingNode:
			pair := pairOf(n, step)
			if pair == nil && i == len(path.Steps)-1 {
				return nil, errAbsent
			}
			if pair == nil {
				return nil, shape(fmt.Sprintf("%v is not written out where it counts", step))
			}
			node = pair.Value
		case *ast.SequenceNode:
			at, ok := step.(int)
			if !ok || at >= len(n.Values) {
				return nil, shape(fmt.Sprintf("there is no %v in a list", step))
			}
			node = n.Values[at]
		default:
			return nil, shape(fmt.Sprintf("%v is not written out where it counts", step))
		}
	}
	return node, nil
}

// pairOf finds a key of a mapping: the last of its name, which counts.
func pairOf(m *ast.MappingNode, key any) (found *ast.MappingValueNode) {
	for _, pair := range m.Values {
		if tk := pair.Key.GetToken(); tk != nil && tk.Value == key {
			found = pair
		}
	}
	return found
}

// onlyThat holds an edit to what it was for: read again, the text has the new value, and
// every other value as it was.
func onlyThat(before, after []byte, path Path, value any) error {
	was, err := decoded(before)
	if err != nil {
		return err
	}
	is, err := decoded(after)
	if err != nil {
		return err
	}
	var wanted any
	if cause := yaml.Unmarshal([]byte(flow(value)), &wanted); cause != nil {
		return shape("the new value cannot be written in a line")
	}
	if path.Document >= len(was) || !assign(was[path.Document], path.Steps, wanted) || !reflect.DeepEqual(was, is) {
		return shape("more would change than is meant")
	}
	return nil
}

// decoded gives the values of all documents of a text, empty ones included.
func decoded(data []byte) ([]any, error) {
	tree, wrong := Parse(data)
	if wrong != nil {
		return nil, wrong
	}
	documents, wrong := Decode(tree)
	if wrong != nil {
		return nil, wrong
	}
	values := make([]any, len(tree.Docs))
	for _, d := range documents {
		values[d.Index] = d.Value
	}
	return values, nil
}

// assign sets what a path leads to, from a value that holds mappings and lists.
func assign(root any, steps []any, value any) bool {
	switch at := root.(type) {
	case map[string]any:
		key, ok := steps[0].(string)
		if ok && len(steps) == 1 {
			at[key] = value
			return true
		}
		return ok && assign(at[key], steps[1:], value)
	case []any:
		i, ok := steps[0].(int)
		if !ok || i >= len(at) {
			return false
		}
		if len(steps) == 1 {
			at[i] = value
			return true
		}
		return assign(at[i], steps[1:], value)
	}
	return false
}
