package chapters

import (
	"net/url"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"lockproof/docs/guide"
	"lockproof/lab"
	"lockproof/site"
)

// linker leads from the guide's text to where it can be tried: the name of a scenario to
// the lab, and from a command that runs some to each of them.
type linker struct{ known map[string]bool }

// Transform changes the tree of a chapter.
func (l *linker) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	var links []*ast.Link
	var spans []*ast.CodeSpan
	var blocks []*ast.FencedCodeBlock
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it gives no error
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				links = append(links, n)
			}
			return ast.WalkSkipChildren, nil // no link within a link
		case *ast.CodeSpan:
			if entering {
				spans = append(spans, n)
			}
		case *ast.FencedCodeBlock:
			if entering {
				blocks = append(blocks, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range links {
		l.follow(n)
	}
	for _, n := range spans {
		l.name(n, source)
	}
	for _, n := range blocks {
		l.command(n, source)
	}
}

// follow leads a link to another page of the guide; what the site does not have is text.
func (l *linker) follow(n *ast.Link) {
	to, fragment, _ := strings.Cut(string(n.Destination), "#")
	if strings.Contains(to, ":") || to == "" {
		return
	}
	name := strings.TrimSuffix(to, ".md")
	for _, c := range guide.All() {
		if c.Name == name && path.Dir(to) == "." {
			n.Destination = []byte(fileOf(name) + ".html")
			if fragment != "" {
				n.Destination = append(n.Destination, "#"+fragment...)
			}
			return
		}
	}
	if strings.HasSuffix(to, ".html") {
		return // a finding's page
	}
	if to == "../serve.md" {
		n.Destination = []byte("../lab/" + site.Index + ".html")
		return
	}
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		n.Parent().InsertBefore(n.Parent(), n, child)
	}
	n.Parent().RemoveChild(n.Parent(), n)
}

// name leads from a scenario's name to the lab.
func (l *linker) name(n *ast.CodeSpan, source []byte) {
	if _, linked := n.Parent().(*ast.Link); linked {
		return
	}
	name := strings.TrimPrefix(written(n, source), "/lab/")
	if !l.known[name] {
		return
	}
	to := ast.NewLink()
	to.Destination = []byte("../lab/" + name + ".html")
	n.Parent().ReplaceChild(n.Parent(), n, to)
	to.AppendChild(to, n)
}

// written is the text of a span.
func written(n *ast.CodeSpan, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if text, ok := child.(*ast.Text); ok {
			b.Write(text.Value(source))
		}
	}
	return b.String()
}

// command puts links to the lab under a block that runs scenarios.
func (l *linker) command(n *ast.FencedCodeBlock, source []byte) {
	under := ast.NewParagraph()
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		words := strings.Fields(string(line.Value(source)))
		if len(words) < 3 || words[0] != "$" || words[2] != "run" {
			continue
		}
		query := queryOf(words[3:])
		for _, w := range words[3:] {
			if !l.known[w] {
				continue
			}
			to := ast.NewLink()
			to.Destination = []byte("../lab/" + w + ".html" + query)
			to.AppendChild(to, ast.NewString([]byte(w)))
			before := ", "
			if under.ChildCount() == 0 {
				before = "Try it in the lab: "
			}
			under.AppendChild(under, ast.NewString([]byte(before)))
			under.AppendChild(under, to)
		}
	}
	if under.ChildCount() > 0 {
		under.SetAttributeString("class", []byte("try"))
		n.Parent().InsertAfter(n.Parent(), n, under)
	}
}

// queryOf is what a command's flags are in a link to the lab.
func queryOf(words []string) string {
	q := url.Values{}
	for i, w := range words {
		for flag, control := range map[string]string{"--lock": lab.LockControl, "--without": lab.RuleControl, "--seed": "seed"} {
			if w == flag && i+1 < len(words) {
				q.Set(control, words[i+1])
			}
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}
