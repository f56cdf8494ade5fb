package guide

import (
	"embed"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// Chapter is a page of the guide.
type Chapter struct {
	Name  string // of its page
	File  string
	Title string
	Text  string // Markdown
}

// Index is the guide's first page, Teaching the teacher's plan. The others are chapters.
const (
	Index    = "index"
	Teaching = "teaching"
)

// All returns the pages: the first page, the chapters in order, the teacher's plan.
func All() []Chapter {
	names, err := files.ReadDir(".") // sorted
	if err != nil {
		panic(err) // the files are embedded
	}
	var first, rest []Chapter
	for _, n := range names {
		data, err := files.ReadFile(n.Name())
		if err != nil {
			panic(err)
		}
		c := Chapter{Name: strings.TrimSuffix(n.Name(), path.Ext(n.Name())), File: n.Name(), Text: string(data)}
		c.Title, _, _ = strings.Cut(strings.TrimPrefix(c.Text, "# "), "\n")
		if c.File == "README.md" {
			c.Name = Index
			first = append(first, c)
		} else {
			rest = append(rest, c)
		}
	}
	return slices.Concat(first, rest)
}

// About returns the chapters that name a scenario.
func About(scenario string) []Chapter {
	word := regexp.MustCompile("(^|[^a-z-])" + regexp.QuoteMeta(scenario) + "($|[^a-z-])")
	return slices.DeleteFunc(All(), func(c Chapter) bool {
		return c.Name == Index || c.Name == Teaching || !word.MatchString(c.Text)
	})
}
