package chapters

import (
	"context"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"example.org/lockproof/site"
)

// terminalDrawing matches a terminal's report of a violation: the scenario, its variant, and everything up to the empty
// line after the drawing.
var terminalDrawing = regexp.MustCompile(`(?s)\n([a-z0-9-]+)(?: \(([^\n]+)\))?\n  [a-z-]+: violated[^\n]*\n` +
	`(?: {4}[^\n]+\n)+\n {4}\S+ +\|[^\n]+\n(?: +[^\n]+\n)+\n?`)

// emptyBlock is the rest of a block after its drawing became a picture.
var emptyBlock = regexp.MustCompile("```(?:console|text)\n```\n")

// withPictures renders a chapter with pictures in place of terminal drawings.
func withPictures(ctx context.Context, s *site.Site, text string) (template.HTML, error) {
	var pictures []string
	var failed error
	text = terminalDrawing.ReplaceAllStringFunc(text, func(block string) string {
		m := terminalDrawing.FindStringSubmatch(block)
		id := fmt.Sprintf("drawing-%d", len(pictures)/2+1)
		picture, err := s.Picture(ctx, m[1], m[2], id)
		if err != nil {
			failed = fmt.Errorf("the drawing of %s: %w", m[1], err)
		}
		pictures = append(pictures, "<p>"+id+"</p>", picture)
		return "\n```\n\n" + id + "\n\n```console\n"
	})
	body, err := render(emptyBlock.ReplaceAllString(text, ""))
	if failed != nil {
		err = failed
	}
	return template.HTML(strings.NewReplacer(pictures...).Replace(string(body))), err
}
