package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/internal/input"
)

// Error is a mistake in a text: its position, what is wrong, and what is accepted. Lines and columns count from 1;
// columns count characters.
type Error struct {
	Line, Column int
	What, Right  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s; %s", e.Line, e.Column, e.What, e.Right)
}

func errorAt(at *token.Position, what, right string) *Error {
	if at == nil {
		at = &token.Position{Line: 1, Column: 1}
	}
	return &Error{Line: at.Line, Column: at.Column, What: what, Right: right}
}

// Parse returns the tree of a text within the limits. Aliases and repeated keys of a mapping stay in the tree.
func Parse(data []byte) (*ast.File, *Error) {
	if int64(len(data)) > input.YAML {
		return nil,
			errorAt(nil, fmt.Sprintf("the file has %d bytes", len(data)), fmt.Sprintf("it may have at most %d", input.YAML))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // sometimes two lines to the parser
	if at := invalidUTF8(data); at != nil {
		return nil, errorAt(at, "the text is not UTF-8", "save the file as UTF-8")
	}
	if err := checkText(data); err != nil {
		return nil, err
	}
	tree, err := guarded(func() (*ast.File, error) {
		return parser.ParseBytes(withoutEmpty(data), 0, parser.AllowDuplicateMapKey())
	})
	if err != nil {
		return nil, syntax(err)
	}
	return tree, nil
}

// header is a line that begins a document without content.
var header = regexp.MustCompile(`^---[ \t]*(?:#.*)?$`)

// withoutEmpty turns the first line of a document that has only comments into a comment: charts leave many such
// documents, and the parser silently drops every document after one. No other line changes.
func withoutEmpty(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	last := -1 // the header of a document without content so far
	for i, line := range lines {
		switch text := bytes.TrimSpace(line); {
		case header.Match(bytes.TrimSuffix(line, []byte("\n"))):
			if last >= 0 {
				lines[last] = append([]byte("#"), lines[last][1:]...)
			}
			last = i
		case len(text) > 0 && text[0] != '#':
			last = -1
		}
	}
	return bytes.Join(lines, nil)
}

// guarded turns a panic of the YAML library into an error.
func guarded[T any](do func() (T, error)) (result T, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errors.New("the YAML parser gives up on this text")
		}
	}()
	return do()
}

// Document is one document of a file.
type Document struct {
	Body ast.Node
	// Value is a map[string]any, []any, string, number and so on, with aliases and merge keys replaced.
	Value any
}

// Decode returns the values of a tree from Parse, for documents with content. The limits hold for the values with every
// alias replaced, too.
func Decode(tree *ast.File) (documents []Document, err *Error) {
	defer func() {
		if fault := recover(); fault != nil {
			documents, err = nil, errorAt(nil, "the YAML parser gives up on this text", "write it more simply")
		}
	}()
	if err := checkTree(tree); err != nil {
		return nil, err
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if err := ordered(doc.Body); err != nil {
			return nil, err
		}
		d := Document{Body: doc.Body}
		if cause := yaml.NodeToValue(doc.Body, &d.Value); cause != nil {
			return nil, syntax(cause)
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// ordered moves merge keys to the front, and reverses the order of several merges: in the library the last value of a
// key counts, in YAML the mapping's own and then that of the first merge. A repeated key is an error.
func ordered(body ast.Node) (wrong *Error) {
	ast.Walk(visitor(func(n ast.Node) {
		m, ok := n.(*ast.MappingNode)
		if !ok {
			return
		}
		seen := map[string]bool{}
		for _, v := range m.Values {
			name := v.Key.String()
			if tk := v.Key.GetToken(); seen[name] && wrong == nil {
				wrong = errorAt(tk.Position, fmt.Sprintf("the key %s is there twice", name), "leave one of them out")
			}
			seen[name] = true
			if all, several := v.Value.(*ast.SequenceNode); several && v.Key.IsMergeKey() {
				slices.Reverse(all.Values)
			}
		}
		slices.SortStableFunc(m.Values, func(a, b *ast.MappingValueNode) int {
			switch {
			case a.Key.IsMergeKey() == b.Key.IsMergeKey():
				return 0
			case a.Key.IsMergeKey():
				return -1
			}
			return 1
		})
	}), body)
	return wrong
}

type visitor func(ast.Node)

func (v visitor) Visit(n ast.Node) ast.Visitor {
	v(n)
	return v
}

// invalidUTF8 returns the position of the first byte that is not UTF-8.
func invalidUTF8(data []byte) *token.Position {
	at := &token.Position{Line: 1, Column: 1}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return at
		case r == '\n':
			at.Line, at.Column = at.Line+1, 1
		default:
			at.Column++
		}
		data = data[size:]
	}
	return nil
}

// syntax converts an error of the YAML library.
func syntax(err error) *Error {
	var at *token.Position
	message := err.Error()
	var found yaml.Error
	if errors.As(err, &found) {
		message = found.GetMessage()
		if tk := found.GetToken(); tk != nil {
			at = tk.Position
		}
	}
	return errorAt(at, "this is not YAML: "+strings.ReplaceAll(message, "'\t'", "tab"), syntaxHint(message))
}

// syntaxHints suggest the likely correction, by the parser's message.
var syntaxHints = []struct{ message, hint string }{
	{"mapping value is not allowed", "put a text that holds \": \" in quotes"},
	{"could not find end character", "close the quotes"},
	{"sequence end token", "close the list with ]"},
	{"could not find flow map", "close the mapping with }"},
	{"tab", "indent with spaces"},
	{"'\t'", "indent with spaces"},
	{"found an invalid key", "keys are plain words: write `key: value`"},
	{"reserved character", "put the text in quotes"},
	{"value is not allowed in this context", "indent the keys of one mapping alike"},
	{"non-map value is specified", "indent the keys of one mapping alike"},
}

func syntaxHint(message string) string {
	for _, h := range syntaxHints {
		if strings.Contains(message, h.message) {
			return h.hint
		}
	}
	return "indent with spaces, write `key: value`, and put texts that hold : or # in quotes"
}
