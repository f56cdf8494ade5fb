package chapters

import (
	"context"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"example.org/lockproof/site"
)

// drawn finds what a terminal prints of a violation: the names of the scenario and its variant, and
// the rest up to the empty line after the drawing.
var drawn = regexp.MustCompile(`(?s)\n([a-z0-9-]+)(?: \(([^\n]+)\))?\n  [a-z-]+: violated[^\n]*\n` +
	`(?: {4}[^\n]+\n)+\n {4}\S+ +\|[^\n]+\n(?: +[^\n]+\n)+\n?`)

// empty is what such a picture may leave of its block.
var empty = regexp.MustCompile("```(?:console|text)\n```\n")

// withPictures renders a chapter with pictures where its text has a terminal's drawings.
func withPictures(ctx context.Context, of *site.Site, text string) (template.HTML, error) {
	var pictures []string
	var failed error
	text = drawn.ReplaceAllStringFunc(text, func(block string) string {
		m := drawn.FindStringSubmatch(block)
		id := fmt.Sprintf("drawing-%d", len(pictures)/2+1)
		picture, err := of.Picture(ctx, m[1], m[2], id)
		if err != nil {
			failed = fmt.Errorf("the drawing of %s: %w", m[1], err)
		}
		pictures = append(pictures, "<p>"+id+"</p>", picture)
		return "\n```\n\n" + id + "\n\n```console\n"
	})
	body, err := render(empty.ReplaceAllString(text, ""))
	if failed != nil {
		err = failed
	}
	return template.HTML(strings.NewReplacer(pictures...).Replace(string(body))), err
}
