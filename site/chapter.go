package site

import "html/template"

// Index is the name of the first page of each folder of the site.
const Index = "index"

// Chapter is a page of the guide, with those before and after it.
type Chapter struct {
	Title         string
	Text          template.HTML
	Before, After *Step
}

// Step leads to another chapter.
type Step struct{ Name, Title string }

// ShowChapter makes the page of a chapter, for a server or as a file.
func ShowChapter(c Chapter, served bool) Page {
	return show(ok, "chapter", (&Site{Served: served}).frame(c.Title, "guide", c))
}

// Start makes the first page of a site of files.
func Start() Page {
	f := (&Site{}).frame("See a lock fail, and why", "start", nil)
	f.Root = ""
	return show(ok, "start", f)
}
