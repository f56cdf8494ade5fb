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
	Name  string // of its file, without .md
	Title string
	Text  string // Markdown, as the file has it
}

// Index is the name of the guide's first page, Teaching that of the teacher's plan. The
// others are chapters.
const (
	Index    = "README"
	Teaching = "teaching"
)

// All gives the pages, the first page first, the chapters in their order, and the
// teacher's plan last.
func All() []Chapter {
	names, err := files.ReadDir(".") // sorted; capitals come behind digits
	if err != nil {
		panic(err) // they are embedded
	}
	var first, rest []Chapter
	for _, n := range names {
		data, err := files.ReadFile(n.Name())
		if err != nil {
			panic(err)
		}
		c := Chapter{Name: strings.TrimSuffix(n.Name(), path.Ext(n.Name())), Text: string(data)}
		c.Title, _, _ = strings.Cut(strings.TrimPrefix(c.Text, "# "), "\n")
		if c.Name == Index {
			first = append(first, c)
		} else {
			rest = append(rest, c)
		}
	}
	return slices.Concat(first, rest)
}

// About gives the chapters that name a scenario.
func About(scenario string) []Chapter {
	word := regexp.MustCompile("(^|[^a-z-])" + regexp.QuoteMeta(scenario) + "($|[^a-z-])")
	return slices.DeleteFunc(All(), func(c Chapter) bool {
		return c.Name == Index || c.Name == Teaching || !word.MatchString(c.Text)
	})
}
