package yamlfile

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a text. The YAML library cuts a text into tokens in a time that
// grows with its length, but for empty lines in a row; what it does with the
// tokens can take the square of their number, and more where they are nested.
const (
	mostTokens    = 20_000
	mostDocuments = 200
	mostEmpty     = 100 // empty lines in a row
	deepest       = 64  // lists and mappings in one another
	// mostValues bounds what a text stands for once every alias has been
	// replaced by what it is of.
	mostValues = 20_000
	longText   = 64 // bytes of a text that count as a value more
)

// checkText holds a text to the bounds before it is parsed.
func checkText(data []byte) *Error {
	if line := manyEmpty(data); line > 0 {
		return errorAt(&token.Position{Line: line, Column: 1},
			fmt.Sprintf("there are more than %d empty lines in a row", mostEmpty), "leave them out")
	}
	// The parser meets a fault of the tokens again.
	tokens, _ := guarded(func() (token.Tokens, error) { return lexer.Tokenize(string(data)), nil })
	if len(tokens) > mostTokens {
		return errorAt(tokens[mostTokens].Position, fmt.Sprintf("the file has more than %d words and signs", mostTokens),
			"give a file with fewer")
	}
	depth, documents := 0, 0
	for i, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		case token.DocumentHeaderType:
			documents++
		}
		switch {
		case depth > deepest || dashes(tokens, i) > deepest:
			return tooDeep(tk)
		case documents > mostDocuments:
			return errorAt(tk.Position, fmt.Sprintf("the file has more than %d documents", mostDocuments),
				"give a file with fewer")
		}
	}
	return nil
}

func tooDeep(tk *token.Token) *Error {
	return errorAt(tk.Position, fmt.Sprintf("lists and mappings are more than %d deep in one another", deepest),
		"write the text with fewer levels")
}

// dashes is how many lists begin on one line up to a token: "- - - x".
func dashes(tokens token.Tokens, last int) int {
	n := 0
	for i := last; i >= 0 && n <= deepest && tokens[i].Type == token.SequenceEntryType &&
		tokens[i].Position.Line == tokens[last].Position.Line; i-- {
		n++
	}
	return n
}

// manyEmpty gives the line, from 1, at which there are too many empty lines in a
// row; 0 where there are not.
func manyEmpty(data []byte) int {
	line, empty := 0, 0
	for text := range bytes.Lines(bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))) {
		line++
		empty++
		if len(bytes.TrimSpace(text)) > 0 {
			empty = 0
		}
		if empty > mostEmpty {
			return line
		}
	}
	return 0
}

// checkTree holds what a tree stands for to the bounds.
func checkTree(tree *ast.File) *Error {
	var c counter
	for _, doc := range tree.Docs {
		c.values = map[string]extent{} // each document has anchors of its own
		if doc.Body != nil {
			c.total += c.count(doc.Body, 0).values
			c.hold(doc.Body, extent{values: c.total})
		}
	}
	return c.err
}

// extent is how much a value stands for: it and all that is in it, and how many
// levels that has.
type extent struct{ values, depth int }

// counter counts what a tree stands for without writing it out: an alias counts
// as much as what it is of.
type counter struct {
	values map[string]extent // by the name of the anchor
	total  int               // values in the documents so far
	err    *Error            // the first bound that is passed
}

// hold notes that a node's extent goes past a bound.
func (c *counter) hold(n ast.Node, e extent) {
	switch {
	case c.err != nil:
	case e.depth > 2*deepest: // a mapping's pairs are levels of the tree as well
		c.err = tooDeep(n.GetToken())
	case e.values > mostValues:
		c.err = errorAt(n.GetToken().Position, fmt.Sprintf("with its aliases written out, the file has more than %d values",
			mostValues), "write out what is meant, with fewer")
	}
}

// count gives the extent of a node that is so deep down, and stops at the first
// that goes past a bound.
func (c *counter) count(n ast.Node, depth int) extent {
	whole := extent{values: 1}
	if c.err != nil || n == nil {
		return whole
	}
	if tk := n.GetToken(); tk != nil {
		whole.values += len(tk.Origin) / longText
	}
	switch n := n.(type) {
	case *ast.AliasNode:
		whole = c.alias(n)
	case *ast.AnchorNode:
		whole = c.count(n.Value, depth)
		if n.Name != nil {
			c.values[n.Name.GetToken().Value] = whole
		}
	default:
		for _, inner := range parts(n) {
			e := c.count(inner, depth+1)
			whole = extent{whole.values + e.values, max(whole.depth, e.depth+1)}
		}
	}
	c.hold(n, extent{whole.values, depth + whole.depth})
	return whole
}

// alias is the extent of what an alias is of, which must stand before it.
func (c *counter) alias(n *ast.AliasNode) extent {
	name := ""
	if n.Value != nil {
		name = n.Value.GetToken().Value
	}
	e, known := c.values[name]
	if !known {
		c.err = errorAt(n.GetToken().Position, fmt.Sprintf("the alias *%s is of nothing that stands before it", name),
			"put the anchor &"+name+" before it, outside of it; a text that begins with * goes in quotes")
	}
	return e
}

// parts are the nodes that a node is made of.
func parts(n ast.Node) []ast.Node {
	switch n := n.(type) {
	case *ast.MappingNode:
		return nodes(n.Values)
	case *ast.MappingValueNode:
		return []ast.Node{n.Key, n.Value}
	case *ast.MappingKeyNode:
		return []ast.Node{n.Value}
	case *ast.SequenceNode:
		return n.Values
	case *ast.TagNode:
		return []ast.Node{n.Value}
	case *ast.LiteralNode:
		return []ast.Node{n.Value}
	}
	return nil
}

func nodes[N ast.Node](list []N) []ast.Node {
	all := make([]ast.Node, len(list))
	for i, n := range list {
		all[i] = n
	}
	return all
}
