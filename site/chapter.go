package site

import (
	"html/template"

	"example.org/lockproof/docs/guide"
)

// Index is the name of the first page of each folder.
const Index = "index"

// Chapter is a page of the guide with links to its neighbours.
type Chapter struct {
	Title         string
	Text          template.HTML
	Before, After *guide.Chapter
}

// ShowChapter makes the page of a chapter.
func (s *Site) ShowChapter(c Chapter) Page {
	f := s.frame(c.Title, "guide", c)
	f.Description = "How distributed locks fail: " + c.Title + "."
	return show(ok, "chapter", f)
}

// ShowText makes a page of a text in a frame.
func ShowText(f Frame, text template.HTML) Page {
	f.Page = Chapter{Title: f.Title, Text: text}
	return show(ok, "chapter", f)
}
