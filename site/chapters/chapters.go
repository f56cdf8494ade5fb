package chapters

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"example.org/lockproof/docs/guide"
	"example.org/lockproof/lab"
	"example.org/lockproof/site"
)

// Page makes a page; false: no page has this name.
func Page(ctx context.Context, s *site.Site, name string) (site.Page, bool) {
	all := guide.All()
	i := slices.IndexFunc(all, func(c guide.Chapter) bool { return c.Name == name })
	if i < 0 {
		return site.Page{}, false
	}
	view := site.Chapter{Title: all[i].Title}
	if i > 0 {
		view.Before = &all[i-1]
	}
	if i+1 < len(all) {
		view.After = &all[i+1]
	}
	var err error
	if view.Text, err = withPictures(ctx, s, all[i].Text); err != nil {
		return site.Page{Status: 500, Type: "text/plain", Body: []byte(err.Error())}, true
	}
	return s.ShowChapter(view), true
}

// render makes HTML of a chapter. It drops HTML in the chapter's text.
func render(text string) (template.HTML, error) {
	known, err := labScenarios()
	if err != nil {
		return "", err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	var b bytes.Buffer
	if err := markdown.Convert([]byte(linked(text, known)), &b); err != nil {
		return "", fmt.Errorf("the guide cannot be rendered: %w", err)
	}
	return template.HTML(reachable.Replace(b.String())), nil
}

// reachable makes scrolling regions accessible by keyboard, and marks table headers.
var reachable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0" role="region" aria-label="What is typed and printed">`,
	"<table>", `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>`, "</table>", "</table></div>",
	"<th>", `<th scope="col">`, "<p>"+tryIt, `<p class="try">`+tryIt)

// labScenarios are the names with a page in the lab.
func labScenarios() (map[string]bool, error) {
	all, err := lab.Catalogue()
	known := map[string]bool{}
	for _, s := range all {
		known[s.Name] = true
	}
	return known, err
}
