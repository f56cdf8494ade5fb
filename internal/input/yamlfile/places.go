package yamlfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// span is a piece of a text, in bytes: [from, to).
type span struct{ from, to int }

// spanOf finds where a value stands: a scalar on one line, a list or a mapping in
// brackets. What the parser says of a place is held against the text.
func spanOf(data []byte, n ast.Node) (span, error) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		if n.IsFlowStyle {
			return between(data, n.Start, n.End)
		}
	case *ast.MappingNode:
		if n.IsFlowStyle {
			return between(data, n.Start, n.End)
		}
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return scalar(data, n.GetToken())
	}
	return span{}, shape("a value is written over several lines, or stands elsewhere")
}

func between(data []byte, start, end *token.Token) (span, error) {
	from, err := offset(data, start)
	if err != nil {
		return span{}, err
	}
	to, err := offset(data, end)
	if err != nil {
		return span{}, err
	}
	if data[from] != start.Value[0] || data[to] != end.Value[0] {
		return span{}, shape("a bracket is not where it seems to be")
	}
	return span{from, to + 1}, nil
}

func scalar(data []byte, tk *token.Token) (span, error) {
	from, err := offset(data, tk)
	if err != nil {
		return span{}, err
	}
	text := string(data[from:])
	var length int
	switch tk.Type {
	case token.DoubleQuoteType:
		length = len(doubleQuoted.FindString(text))
	case token.SingleQuoteType:
		length = len(singleQuoted.FindString(text))
	default:
		if strings.HasPrefix(text, tk.Value) {
			length = len(tk.Value)
		}
	}
	if length == 0 || strings.Contains(text[:length], "\n") {
		return span{}, shape("a text is written over several lines")
	}
	return span{from, from + length}, nil
}

var (
	doubleQuoted = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)
	singleQuoted = regexp.MustCompile(`^'(?:[^']|'')*'`)
)

// offset is where a token begins.
func offset(data []byte, tk *token.Token) (int, error) {
	if tk == nil || tk.Position == nil {
		return 0, shape("a value has no place")
	}
	line, column, at := 1, 1, 0
	for _, r := range string(data) {
		if line == tk.Position.Line && column == tk.Position.Column {
			return at, nil
		}
		at += len(string(r))
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return 0, shape("a value has no place in the text")
}

// replace puts a value where a node stands.
func replace(data []byte, n ast.Node, value any) ([]byte, error) {
	list, isList := value.([]any)
	old, wasList := n.(*ast.SequenceNode)
	if isList && wasList {
		if changed, ok := itemByItem(data, old, list); ok {
			return changed, nil
		}
		if !old.IsFlowStyle {
			return unfolded(data, old, list)
		}
	}
	at, err := spanOf(data, n)
	if err != nil {
		return nil, err
	}
	text, isText := value.(string)
	if tk := n.GetToken(); isText && tk.Type == token.StringType && plainText.MatchString(text) && !otherThanText(text) {
		return splice(data, at, text), nil // as it was written
	}
	return splice(data, at, written(data, value)), nil
}

// plainText is what needs no quotes where there were none, outside of brackets and in.
var plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./=@+"' -]*[A-Za-z0-9_./=@+-]$`)

// mostChanged is how many items of a list are changed one by one; where there are more, it
// is written anew.
const mostChanged = 1

// itemByItem changes single items of a list, and adds those that are new at its end.
func itemByItem(data []byte, old *ast.SequenceNode, list []any) ([]byte, bool) {
	changed := 0
	for i, n := range old.Values {
		if i < len(list) && n.GetToken() != nil && n.GetToken().Value != fmt.Sprint(list[i]) {
			changed++
		}
	}
	if len(old.Values) == 0 || len(list) < len(old.Values) || changed > mostChanged {
		return nil, false
	}
	last := old.Values[len(old.Values)-1]
	end, err := spanOf(data, last)
	if err != nil {
		return nil, false
	}
	for i := len(list) - 1; i >= len(old.Values); i-- {
		if old.IsFlowStyle {
			data = splice(data, span{end.to, end.to}, ", "+written(data, list[i]))
		} else {
			data = newLine(data, end.to, old.Start.Position.Column, "- "+flow(list[i]))
		}
	}
	for i := len(old.Values) - 1; i >= 0; i-- {
		if old.Values[i].GetToken().Value == fmt.Sprint(list[i]) {
			continue
		}
		at, err := spanOf(data, old.Values[i])
		if err != nil {
			return nil, false
		}
		data = splice(data, at, written(data, list[i]))
	}
	return data, true
}

// unfolded writes a list of lines anew, in brackets behind its key.
func unfolded(data []byte, old *ast.SequenceNode, list []any) ([]byte, error) {
	first, err := offset(data, old.Start)
	if err != nil {
		return nil, err
	}
	if len(old.Values) == 0 || data[first] != '-' {
		return nil, shape("a list is not where it seems to be")
	}
	last, err := spanOf(data, old.Values[len(old.Values)-1])
	if err != nil {
		return nil, err
	}
	from := first
	for from > 0 && (data[from-1] == ' ' || data[from-1] == '\n') {
		from--
	}
	if data[from-1] != ':' || strings.Contains(string(data[from:last.to]), "#") {
		return nil, shape("a comment stands in a list that would be written anew")
	}
	return splice(data, span{from, last.to}, " "+flow(list)), nil
}

// insert adds a key to a mapping, after another of its keys.
func insert(data []byte, tree *ast.File, path Path, value any, after string) ([]byte, error) {
	last := len(path.Steps) - 1
	node := ast.Node(tree.Docs[path.Document].Body)
	if last > 0 {
		var err error
		if node, err = walk(tree, Path{path.Document, path.Steps[:last]}); err != nil {
			return nil, err
		}
	}
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return nil, shape("there is no mapping to add to")
	}
	beside := pairOf(mapping, after)
	if beside == nil {
		return nil, shape(fmt.Sprintf("there is no %s to add it after", after))
	}
	at, err := spanOf(data, beside.Value)
	if err != nil {
		return nil, err
	}
	pair := written(data, path.Steps[last]) + ": " + written(data, value)
	if mapping.IsFlowStyle {
		return splice(data, span{at.to, at.to}, ", "+pair), nil
	}
	return newLine(data, at.to, beside.Key.GetToken().Position.Column, pair), nil
}

// newLine adds a line after the one that a place is in, from a column on.
func newLine(data []byte, at, column int, text string) []byte {
	text = strings.Repeat(" ", column-1) + text
	end := strings.IndexByte(string(data[at:]), '\n')
	if end < 0 {
		return append(slices.Clone(data), "\n"+text...)
	}
	return splice(data, span{at + end, at + end}, "\n"+text)
}

func splice(data []byte, at span, text string) []byte {
	return slices.Concat(data[:at.from], []byte(text), data[at.to:])
}

// plainWord is a text that YAML takes for one without quotes, in brackets too.
var plainWord = regexp.MustCompile(`^-{0,2}[A-Za-z/][A-Za-z0-9_./=@+-]*$`)

// otherThanText reports whether YAML takes a word for something else than a text.
func otherThanText(word string) bool {
	return slices.Contains([]string{"yes", "no", "true", "false", "on", "off", "null", "y", "n"}, strings.ToLower(word))
}

// written is a value in one line: in a JSON text, which has to stay one, as JSON.
func written(data []byte, value any) string {
	if json.Valid(data) {
		return quote(value)
	}
	return flow(value)
}

// flow writes a value in one line.
func flow(value any) string {
	switch v := value.(type) {
	case string:
		if plainWord.MatchString(v) && !otherThanText(v) {
			return v
		}
		return quote(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = flow(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, flow(key)+": "+flow(v[key]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

// quote writes a value as JSON: a text in double quotes, in which JSON's escapes are YAML's.
func quote(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value) // of texts, numbers, lists and mappings of them there is no error
	return strings.TrimSuffix(b.String(), "\n")
}
