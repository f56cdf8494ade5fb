package scenarios

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/internal/input"
	"example.org/lockproof/internal/input/yamlfile"
)

// Load reads the scenario file at path. See Parse.
func Load(path string) (*Scenario, error) {
	data, err := input.Read(path, input.YAML)
	if err != nil {
		return nil, fmt.Errorf("cannot read the scenario file %s: %w", path, input.Cause(err))
	}
	return Parse(path, data)
}

// Parse reads a scenario from the text of its file, whose name is for errors and Scenario.File. It is strict. The error
// joins every mistake of the file as a *Problem, in the order of the lines.
func Parse(file string, data []byte) (*Scenario, error) {
	d := &decoder{file: file}
	if root := d.parse(data); root != nil {
		d.scenario(root)
	}
	if err := d.joinErrors(); err != nil {
		return nil, err
	}
	return d.s, nil
}

// decoder converts the syntax tree of a file into a Scenario, and collects its problems.
type decoder struct {
	file     string
	problems []*Problem
	s        *Scenario
	// unresolved is set if nodes or clients are invalid: then unknown names are not reported.
	unresolved bool
}

var start = &token.Position{Line: 1, Column: 1}

// parse returns the one mapping that the file must be, or nil after a report.
func (d *decoder) parse(data []byte) *ast.MappingNode {
	tree, err := yamlfile.Parse(data)
	if err != nil {
		d.report(&token.Position{Line: err.Line, Column: err.Column}, err.What, err.Right)
		return nil
	}
	return d.document(tree)
}

// document returns the mapping of the file's only document.
func (d *decoder) document(tree *ast.File) *ast.MappingNode {
	var found []*ast.DocumentNode
	for _, doc := range tree.Docs {
		if doc.Body != nil && doc.Body.Type() == ast.DirectiveType {
			d.report(position(doc.Body), "YAML directives are not supported", "remove the line that begins with %")
			return nil
		}
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			found = append(found, doc)
		}
	}
	switch len(found) {
	case 0:
		d.report(start, "the file is empty", "a scenario begins with its name, for example `name: my-scenario`")
		return nil
	case 1:
	default:
		d.report(position(found[1].Body), "a second YAML document begins here", "want one scenario per file")
		return nil
	}
	root, ok := found[0].Body.(*ast.MappingNode)
	if !ok {
		d.mismatch(found[0].Body, "the file",
			"a mapping that begins with the scenario's name, for example `name: my-scenario`")
		return nil
	}
	return root
}
