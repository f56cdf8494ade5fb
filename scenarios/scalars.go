package scenarios

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/internal/suggest"
)

// position is the start of a value; a block mapping starts with its first key.
func position(n ast.Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position
	}
	return start
}

// mismatch reports a value of the wrong kind.
func (d *decoder) mismatch(n ast.Node, what, want string) {
	switch n := n.(type) {
	case *ast.AliasNode:
		d.report(position(n), "a value that begins with * is a YAML alias, which scenario files do not support",
			`put a wildcard in quotes, for example "*-n3"`)
	case *ast.AnchorNode:
		d.report(position(n), "a value that begins with & is a YAML anchor, which scenario files do not support",
			"write each value out where it belongs")
	case *ast.TagNode:
		d.report(position(n), "a value that begins with ! is a YAML tag, which scenario files do not support",
			"remove the tag")
	default:
		d.report(position(n), what+" is "+describe(n), "want "+want)
	}
}

func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + n.GetToken().Value
	case *ast.BoolNode:
		return n.Token.Value
	case *ast.SequenceNode:
		if len(n.Values) == 0 {
			return "an empty list"
		}
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.StringNode:
		return fmt.Sprintf("the text %q", n.Value)
	default:
		return "a text"
	}
}

// text reads a non-empty text.
func (d *decoder) text(n ast.Node, what string) string {
	text, ok := "", false
	switch n := n.(type) {
	case *ast.StringNode:
		text, ok = n.Value, true
	case *ast.LiteralNode:
		text, ok = n.Value.Value, true
	}
	if !ok {
		want := "text (a number or true as text goes in quotes)"
		if n.Type() == ast.MappingType {
			want = "text (one that holds \": \" goes in quotes)"
		}
		d.mismatch(n, what, want)
		return ""
	}
	if strings.TrimSpace(text) == "" {
		d.report(position(n), what+" is empty", "want text")
	}
	return strings.Join(strings.Fields(text), " ")
}

var text value[string] = (*decoder).text

// value reads the value of a key; what names the key in reports.
type value[T any] func(d *decoder, n ast.Node, what string) T

// oneOf reads one of several texts; kind is their plural noun.
func oneOf[T ~string](kind string, among ...T) value[T] {
	return func(d *decoder, n ast.Node, what string) T {
		text := d.text(n, what)
		if text == "" || slices.Contains(among, T(text)) {
			return T(text)
		}
		d.report(position(n), fmt.Sprintf("%s: unknown value %q", what, text),
			suggest.Instead(text, among, "the "+kind+" are"))
		return ""
	}
}

// someOf reads one text or a list of distinct texts, each one of several.
func someOf(kind string, among ...string) value[[]string] {
	return func(d *decoder, n ast.Node, what string) []string {
		var words []string
		for _, element := range d.list(n, what) {
			word := oneOf(kind, among...)(d, element, what)
			if slices.Contains(words, word) {
				d.report(position(element), fmt.Sprintf("%s lists %s twice", what, word), "list it once")
			} else if word != "" {
				words = append(words, word)
			}
		}
		return words
	}
}

// integer reads a whole number within bounds.
func integer(least, most int) value[int] {
	return func(d *decoder, n ast.Node, what string) int {
		number, ok := n.(*ast.IntegerNode)
		if !ok || !(numeric(number) >= float64(least) && numeric(number) <= float64(most)) {
			d.mismatch(n, what, fmt.Sprintf("a whole number from %d to %d", least, most))
			return least
		}
		return int(numeric(number))
	}
}

// number reads a number within bounds, both included.
func number(least, most float64) value[float64] {
	return func(d *decoder, n ast.Node, what string) float64 {
		value := numeric(n)
		if !(value >= least && value <= most) {
			d.mismatch(n, what, fmt.Sprintf("a number from %g to %g", least, most))
			return least
		}
		return value
	}
}

// present reads an optional value.
func present[T any](read value[T]) value[*T] {
	return func(d *decoder, n ast.Node, what string) *T {
		v := read(d, n, what)
		return &v
	}
}

// numeric is the value of a number, NaN for other nodes.
func numeric(n ast.Node) float64 {
	switch n := n.(type) {
	case *ast.FloatNode:
		return n.Value
	case *ast.IntegerNode:
		switch value := n.Value.(type) {
		case int64:
			return float64(value)
		case uint64:
			return float64(value)
		}
	}
	return math.NaN()
}

func (d *decoder) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.mismatch(n, what, "true or false")
		return false
	}
	return b.Value
}

// sign restricts the sign of a span.
type sign int

const (
	positive sign = iota
	zeroOrMore
	anySign
)

const spanForm = `write it like "50ms", "1.2 ttl" or "1 ttl + 50ms"`

// span reads a duration, and checks its sign at the scenario's TTL.
func (s sign) span(d *decoder, n ast.Node, what string) Span {
	var text string
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		text = n.GetToken().Value
	default:
		d.mismatch(n, what, "a duration, for example 50ms or 1.2 ttl")
		return Span{}
	}
	span, err := ParseSpan(text)
	if err != nil {
		right := spanForm
		if errors.Is(err, errTooLong) {
			right = fmt.Sprintf("a duration is at most %gh or %d ttl", maxFixedSpan.Hours(), maxSpanTTLs)
		}
		d.report(position(n), fmt.Sprintf("%s: %q %v", what, text, err), right)
		return Span{}
	}
	at := span.In(d.s.TTL)
	switch {
	case s == positive && at <= 0:
		d.report(position(n), fmt.Sprintf("%s: %q is too short", what, text), "want more than 0")
	case s == zeroOrMore && at < 0:
		d.report(position(n), fmt.Sprintf("%s: %q is negative", what, text), "want 0 or more")
	}
	return span
}

// spans reads a range: [min, max], or one value for both.
func (d *decoder) spans(n ast.Node, what string) Range {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		one := positive.span(d, n, what)
		return Range{one, one}
	}
	if len(list.Values) != 2 {
		d.report(position(n), fmt.Sprintf("%s has %d durations", what, len(list.Values)), "want [min, max], or one duration")
		return Range{}
	}
	r := Range{positive.span(d, list.Values[0], what), positive.span(d, list.Values[1], what)}
	if r.Min.In(d.s.TTL) > r.Max.In(d.s.TTL) {
		d.report(position(n), fmt.Sprintf("%s: %s is more than %s", what, r.Min, r.Max),
			"the smaller comes first: [min, max]")
	}
	return r
}

// elements returns the elements of a non-empty list; want describes it in reports.
func (d *decoder) elements(n ast.Node, what, want string) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		d.mismatch(n, what, want)
		return nil
	}
	return list.Values
}

// list returns the elements of a list, or a single value.
func (d *decoder) list(n ast.Node, what string) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return []ast.Node{n}
	}
	if len(list.Values) == 0 {
		d.report(position(n), what+" is an empty list", "add one, or remove the key")
	}
	return list.Values
}
