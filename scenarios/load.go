package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// longestFile bounds a scenario file. The catalogue's are a few kilobytes, and
// the YAML parser's time grows with the square of some texts ("[[[[...").
const longestFile = 32 << 10

// Load reads the scenario file at path. See Parse.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the scenario file cannot be read: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a scenario from the text of its file, whose name is for errors
// and for Scenario.File. It is strict, and the error holds every problem of the
// file as a *Problem, in the order of the lines (errors.Join).
func Parse(file string, data []byte) (*Scenario, error) {
	d := &decoder{file: file}
	if root := d.parse(data); root != nil {
		d.scenario(root)
	}
	if err := d.joined(); err != nil {
		return nil, err
	}
	return d.s, nil
}

// decoder turns the syntax tree of one file into a Scenario and collects what
// is wrong with it.
type decoder struct {
	file     string
	problems []*Problem
	s        *Scenario
	name     *token.Position // of the scenario's name
	// vague is set when the nodes or clients are broken: names that then seem
	// not to exist are not reported, for they may be right.
	vague bool
}

var start = &token.Position{Line: 1, Column: 1}

// parse returns the one mapping that the file must be, or nil after a report.
func (d *decoder) parse(data []byte) *ast.MappingNode {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > longestFile {
		d.report(start, fmt.Sprintf("the file has %d bytes", len(data)), fmt.Sprintf("a scenario has at most %d, and most have fewer than 2000", longestFile))
		return nil
	}
	if at := invalidUTF8(data); at != nil {
		d.report(at, "the text is not UTF-8", "save the file as UTF-8")
		return nil
	}
	tree, err := parseYAML(data)
	if err != nil {
		d.syntax(err)
		return nil
	}
	return d.document(tree)
}

// parseYAML keeps a fault of the YAML library from ending the program: a file
// is a user's, and may hold anything.
func parseYAML(data []byte) (tree *ast.File, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errors.New("the YAML parser gives up on this text")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// invalidUTF8 returns the place of the first byte that is not UTF-8.
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

// document returns the mapping of the file's only document.
func (d *decoder) document(tree *ast.File) *ast.MappingNode {
	var found []*ast.DocumentNode
	for _, doc := range tree.Docs {
		if doc.Body != nil && doc.Body.Type() == ast.DirectiveType {
			d.report(position(doc.Body), "a YAML directive has no meaning here", "leave the line that begins with % out")
			return nil
		}
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			found = append(found, doc)
		}
	}
	switch len(found) {
	case 0:
		d.report(start, "the file is empty", "a scenario begins with its name, as in `name: my-scenario`")
		return nil
	case 1:
	default:
		d.report(position(found[1].Body), "a second document begins here", "a file holds one scenario: put each in a file of its own")
		return nil
	}
	root, ok := found[0].Body.(*ast.MappingNode)
	if !ok {
		d.mismatch(found[0].Body, "the file", "a mapping that begins with the scenario's name, as in `name: my-scenario`")
		return nil
	}
	return root
}

// syntax reports what the YAML parser found.
func (d *decoder) syntax(err error) {
	at, message := start, err.Error()
	var found yaml.Error
	if errors.As(err, &found) {
		message = found.GetMessage()
		if tk := found.GetToken(); tk != nil && tk.Position != nil {
			at = tk.Position
		}
	}
	d.report(at, "this is not YAML: "+strings.ReplaceAll(message, "'\t'", "tab"), syntaxHint(message))
}

// syntaxHints tell what most likely would be right, by what the parser says.
var syntaxHints = []struct{ says, hint string }{
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
		if strings.Contains(message, h.says) {
			return h.hint
		}
	}
	return "indent with spaces, write `key: value`, and put texts that hold : or # in quotes"
}
