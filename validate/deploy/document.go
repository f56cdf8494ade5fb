package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/internal/input"
	"example.org/lockproof/internal/input/yamlfile"
	"example.org/lockproof/validate/settings"
)

// document is one document of a YAML or JSON file, with anchors and merges resolved, or an item of a List in it.
type document struct {
	file  string
	above int // lines of the file before it
	body  ast.Node
	path  []any // of an item of a List
	root  map[string]any
}

// mostDocuments bounds the documents of a file. Each is parsed by itself.
const mostDocuments = 2000

var (
	documentLine = regexp.MustCompile(`(?m)^---(?:[ \t].*)?$`)
	// definition is an object that only describes a kind. Those of an operator are longer than all its other objects.
	definition = regexp.MustCompile(`(?m)^kind: CustomResourceDefinition\s*$`)
)

func readDocuments(file, text string) (documents []document, err error) {
	begins := documentLine.FindAllStringIndex(text, mostDocuments+1)
	lines, last, size := 0, 0, 0
	for _, next := range append(begins, []int{len(text)}) {
		part := text[last:next[0]]
		if !definition.MatchString(part) {
			if size += len(part); int64(size) > input.Config || len(begins) > mostDocuments {
				return nil, &settings.Problem{Place: settings.Place{File: file, Line: lines + 1}, What: "there are too many objects",
					Right: fmt.Sprintf("give at most %d, of %d bytes, besides CustomResourceDefinitions", mostDocuments, input.Config)}
			}
			read, err := readDocument(file, lines, part)
			if err != nil {
				return nil, err
			}
			documents = append(documents, read...)
		}
		lines, last = lines+strings.Count(part, "\n"), next[0]
	}
	return documents, nil
}

func readDocument(file string, above int, text string) (documents []document, err error) {
	tree, wrong := yamlfile.Parse([]byte(text))
	var read []yamlfile.Document
	if wrong == nil {
		read, wrong = yamlfile.Decode(tree)
	}
	if wrong != nil {
		return nil, &settings.Problem{Place: settings.Place{File: file, Line: above + wrong.Line}, Column: wrong.Column,
			What: wrong.What, Right: wrong.Right}
	}
	for _, d := range read {
		whole := document{file: file, above: above, body: d.Body}
		switch root := d.Value.(type) {
		case map[string]any:
			whole.root = root
			documents = append(documents, whole.items()...)
		case []any: // docker inspect, an Ansible playbook
			for i, item := range root {
				documents = append(documents, whole.part(asMap(item), i))
			}
		case nil: // comments only
		default:
			documents = append(documents, whole)
		}
	}
	return documents, nil
}

// items returns the objects of a List, as kubectl get prints one, and of nested Lists; for anything else the document.
func (d document) items() (all []document) {
	kind, _ := d.root["kind"].(string)
	items, ok := d.root["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return []document{d}
	}
	for i, item := range items {
		all = append(all, d.part(asMap(item), "items", i).items()...)
	}
	return all
}

// part is an object below a document.
func (d document) part(root map[string]any, path ...any) document {
	d.path, d.root = slices.Concat(d.path, path), root
	return d
}

// at is the place of the node at a path of keys and indices, or of its nearest existing ancestor.
func (d document) at(path ...any) settings.Place {
	for n := len(path); n >= 0; n-- {
		builder := (&yaml.PathBuilder{}).Root()
		for _, step := range slices.Concat(d.path, path[:n]) {
			if key, isKey := step.(string); isKey {
				builder = builder.Child(key)
			} else {
				builder = builder.Index(uint(step.(int)))
			}
		}
		node, err := builder.Build().FilterNode(d.body)
		if err != nil || node == nil || node.GetToken() == nil {
			continue
		}
		line, block := node.GetToken().Position.Line, false // a block begins on the line below its key
		switch node := node.(type) {
		case *ast.MappingNode:
			block = !node.IsFlowStyle
			for i, v := range node.Values { // the token of a value is its colon
				if at := v.Key.GetToken().Position.Line; i == 0 || at < line {
					line = at
				}
			}
		case *ast.SequenceNode:
			block = !node.IsFlowStyle
		}
		if n > 0 && block && line > 1 {
			if _, isKey := path[n-1].(string); isKey {
				line--
			}
		}
		return settings.Place{File: d.file, Line: d.above + line}
	}
	return settings.Place{File: d.file}
}

func dig(root any, path ...string) any {
	for _, key := range path {
		m, ok := root.(map[string]any)
		if !ok {
			return nil
		}
		root = m[key]
	}
	return root
}

// text returns a string value, "" for any other; list and keys do likewise for lists and mappings.
func text(root any, path ...string) string {
	s, _ := dig(root, path...).(string)
	return s
}

// truth parses a boolean, in the words of YAML 1.1 too.
func truth(value any) (yes, known bool) {
	switch strings.ToLower(fmt.Sprint(cmp.Or(value, any(false)))) {
	case "true", "yes", "on", "y":
		return true, true
	case "false", "no", "off", "n":
		return false, true
	}
	return false, false
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

func keys(value any) []string { return sortedKeys(asMap(value)) }

func asMap(value any) map[string]any { m, _ := value.(map[string]any); return m }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// oddKeys are the keys of a mapping that are not on an allow-list, without those that are switched off.
func oddKeys(value any, list []string) []string {
	return slices.DeleteFunc(keys(value), func(key string) bool {
		off := dig(value, key) == false && refusals.MatchString(key)
		return slices.Contains(list, key) || strings.HasPrefix(key, "x-") || dig(value, key) == nil || off
	})
}

// refusals are keys that grant a container nothing if they are false.
var refusals = regexp.MustCompile(`^(?:host|share|privileged$)`)

// allowed breaks a link for each key of a mapping that is not on an allow-list.
func (s *Server) allowed(place func(...any) settings.Place, value any, list []string, path ...any) {
	at := func(key string) settings.Place { return place(append(slices.Clone(path), key)...) }
	for _, key := range oddKeys(value, list) {
		s.unknown(Settings, at(key), "the key "+key, "touch data, settings, start or stop")
	}
	for _, key := range keys(value) {
		s.judgeValue(at(key), key, dig(value, key))
	}
}
