package yamlfile

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The limits of a text. The YAML library's time for tokens grows with the length of the text, except for consecutive
// empty lines; its time for the tree can grow with the square of the tokens, and more if they are nested.
const (
	mostTokens    = 20_000
	mostDocuments = 200
	mostEmpty     = 100 // consecutive empty lines
	deepest       = 64  // levels of lists and mappings
	// mostValues bounds the values of a text with every alias replaced by its content.
	mostValues = 20_000
	longText   = 64 // each this many bytes of a text count as one more value
)

// checkText enforces the limits that apply before parsing.
func checkText(data []byte) *Error {
	if line := manyEmpty(data); line > 0 {
		return errorAt(&token.Position{Line: line, Column: 1},
			fmt.Sprintf("there are more than %d empty lines in a row", mostEmpty), "leave them out")
	}
	// The parser reports an error in the tokens again.
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

// dashes counts the lists that begin on one line up to a token: "- - - x".
func dashes(tokens token.Tokens, last int) int {
	n := 0
	for i := last; i >= 0 && n <= deepest && tokens[i].Type == token.SequenceEntryType &&
		tokens[i].Position.Line == tokens[last].Position.Line; i-- {
		n++
	}
	return n
}

// manyEmpty returns the line, from 1, that exceeds the limit of consecutive empty lines; otherwise 0.
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

// checkTree enforces the limits of the values with aliases replaced.
func checkTree(tree *ast.File) *Error {
	var c counter
	for _, doc := range tree.Docs {
		c.values = map[string]extent{} // anchors belong to one document
		if doc.Body != nil {
			c.total += c.count(doc.Body, 0).values
			c.checkLimits(doc.Body, extent{values: c.total})
		}
	}
	return c.err
}

// extent is the size of a value with its contents, and its levels.
type extent struct{ values, depth int }

// counter counts values without expanding aliases: an alias counts as its anchor's value does.
type counter struct {
	values map[string]extent // by the name of the anchor
	total  int               // values in the documents so far
	err    *Error            // the first limit exceeded
}

// hold records an error if a node's extent exceeds a limit.
func (c *counter) checkLimits(n ast.Node, e extent) {
	switch {
	case c.err != nil:
	case e.depth > 2*deepest: // a mapping's pairs are levels of the tree as well
		c.err = tooDeep(n.GetToken())
	case e.values > mostValues:
		c.err = errorAt(n.GetToken().Position, fmt.Sprintf("with its aliases written out, the file has more than %d values",
			mostValues), "write out what is meant, with fewer")
	}
}

// count returns the extent of a node at this depth, and stops at the first that exceeds a limit.
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
	c.checkLimits(n, extent{whole.values, depth + whole.depth})
	return whole
}

// alias returns the extent of an alias's anchor, which must precede it.
func (c *counter) alias(n *ast.AliasNode) extent {
	name := ""
	if n.Value != nil {
		name = n.Value.GetToken().Value
	}
	e, known := c.values[name]
	if !known {
		c.err = errorAt(n.GetToken().Position, fmt.Sprintf("the alias *%s has no anchor before it", name),
			"put the anchor &"+name+" before it, outside of it; a text that begins with * goes in quotes")
	}
	return e
}

// parts returns the children of a node.
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
