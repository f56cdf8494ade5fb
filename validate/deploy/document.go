package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/internal/input"
	"example.org/lockproof/internal/input/yamlfile"
	"example.org/lockproof/validate/settings"
)

// item is a value of a YAML or JSON file and its place: a document, with anchors and merges resolved, an object of a
// List, or anything in one of them.
type item struct {
	file  string
	value any
	lines lines
}

// mostDocuments bounds the documents of a file. Each is parsed by itself.
const mostDocuments = 2000

var (
	documentLine = regexp.MustCompile(`(?m)^---(?:[ \t].*)?$`)
	documentEnd  = regexp.MustCompile(`(?m)^\.\.\.`)
	kindLine     = regexp.MustCompile(`(?m)^["']?kind["']?\s*:.*$`)
)

// isDefinition reports whether a document only describes a kind. Those of an operator are longer than all its objects.
func isDefinition(text string) bool {
	kinds := kindLine.FindAllString(text, 2)
	return len(kinds) == 1 && kinds[0] == "kind: CustomResourceDefinition" && !documentEnd.MatchString(text)
}

// split cuts a text before each match.
func split(text string, before *regexp.Regexp) (parts []string) {
	last := 0
	for _, next := range before.FindAllStringIndex(text, -1) {
		parts, last = append(parts, text[last:next[0]]), next[0]
	}
	return append(parts, text[last:])
}

// The lines of a List as kubectl prints one: its items begin at the margin, and nothing else of it says anything.
var (
	listLine  = regexp.MustCompile(`(?m)^kind: List$`)
	itemsLine = regexp.MustCompile(`(?m)^items:$`)
	itemLine  = regexp.MustCompile(`(?m)^(?:- |[^\s#-])`)
	frame     = regexp.MustCompile(`^(?:apiVersion: v1|items:|kind: List|metadata:(?: \{\})?(?:\n  .*)*)?\n*$`)
)

// listParts cuts a List into its items, or returns nil for anything else.
func listParts(text string) (parts []string) {
	if !listLine.MatchString(text) || !itemsLine.MatchString(text) {
		return nil
	}
	parts = split(text, itemLine)
	if slices.ContainsFunc(parts[1:], func(p string) bool { return p[0] != '-' && !frame.MatchString(p) }) {
		return nil
	}
	return parts
}

func readDocuments(file, text string) (documents []item, err error) {
	above, size, count := 0, 0, 0
	for _, whole := range split(strings.ReplaceAll(text, "\r\n", "\n"), documentLine) {
		parts := listParts(whole)
		several := parts != nil
		if !several {
			parts = []string{whole}
		}
		for _, part := range parts {
			if !isDefinition(part) && (!several || part[:min(1, len(part))] == "-") {
				size, count = size+len(part), count+1
				if int64(size) > input.Config || count > mostDocuments {
					return nil, &settings.Problem{Place: settings.Place{File: file, Line: above + 1},
						What: "there are too many objects",
						Right: fmt.Sprintf("besides CustomResourceDefinitions, give at most %d of %d bytes", mostDocuments,
							input.Config)}
				}
				read, err := readDocument(file, above, part)
				if err != nil {
					return nil, err
				}
				documents = append(documents, read...)
			}
			above += strings.Count(part, "\n")
		}
	}
	return documents, nil
}

func readDocument(file string, above int, text string) (documents []item, err error) {
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
		r := lineReader{above, map[string]lines{}}
		whole := item{file, d.Value, r.read(d.Body)}
		switch d.Value.(type) {
		case []any: // docker inspect, an Ansible playbook
			for _, one := range whole.list() {
				documents = append(documents, one.objects()...)
			}
		case nil: // comments only
		default:
			documents = append(documents, whole.objects()...)
		}
	}
	return documents, nil
}

// objects returns the objects of a List, as kubectl get prints one, and of nested Lists; for anything else the item.
func (d item) objects() (all []item) {
	if _, several := d.get("items").value.([]any); !several || !strings.HasSuffix(d.text("kind"), "List") {
		return []item{d}
	}
	for _, object := range d.list("items") {
		all = append(all, object.objects()...)
	}
	return all
}

// get is what an item has at a path of keys and indices; nil where there is nothing.
func (d item) get(path ...any) item {
	for _, step := range path {
		if key, isKey := step.(string); isKey {
			d.value = asMap(d.value)[key]
		} else {
			d.value = list(d.value)[step.(int)]
		}
		d.lines = d.lines.part(step)
	}
	return d
}

// has, text, list and keys are those of the value at a path.
func (d item) has(path ...any) bool { return d.get(path...).value != nil }

func (d item) text(path ...any) string {
	s, _ := d.get(path...).value.(string)
	return s
}

func (d item) list(path ...any) (all []item) {
	whole := d.get(path...)
	for i := range list(whole.value) {
		all = append(all, whole.get(i))
	}
	return all
}

func (d item) keys() []string { return sortedKeys(asMap(d.value)) }

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

func asMap(value any) map[string]any { m, _ := value.(map[string]any); return m }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// oddKeys are the keys of a mapping that are not on an allow-list, without those that are switched off.
func (d item) oddKeys(list []string) []string {
	return slices.DeleteFunc(d.keys(), func(key string) bool {
		value := d.get(key).value
		off := value == false && refusals.MatchString(key)
		return slices.Contains(list, key) || strings.HasPrefix(key, "x-") || value == nil || off
	})
}

// refusals are keys that grant a container nothing if they are false.
var refusals = regexp.MustCompile(`^(?:host|share|privileged$)`)

// allowed breaks a link for each key of a mapping that is not on the lists of its section, and likewise for the
// mappings in it that have a list.
func (s *Server) allowed(d item, form, section string) {
	list := func(section string) []string {
		return slices.Concat(allowed[form+" "+section], allowed[form+" own "+section])
	}
	for _, key := range d.oddKeys(list(section)) {
		s.unknown(Settings, d.at(key), "the key "+key, "touch data, settings, start or stop")
	}
	for _, key := range d.keys() {
		s.judgeValue(d.at(key), key, d.get(key).value)
		if list(key) != nil {
			for _, part := range append(d.list(key), d.get(key)) {
				s.allowed(part, form, key)
			}
		}
	}
}
