package site

import (
	"bytes"
	"embed"
	"html/template"

	"example.org/lockproof/lab"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
)

//go:embed *.gohtml *.css *.js icon.svg
var files embed.FS

// What the engine shows calls no methods: without those that text/template finds by their
// names, the linker leaves out all that nobody calls, which is half of the engine.
var pages = template.Must(html.Parts().Funcs(template.FuncMap{
	"duration": reports.Duration,
	"meaning":  html.Meaning,
	"mostSeed": func() int { return lab.MostSeed },
	"text":     lab.Text,
	"next":     func(i int) int { return i + 1 },
	"seeds":    func() int { return lab.BoundarySeeds },
	"to":       Frame.to,
}).ParseFS(files, "*.gohtml"))

// Templates are those that the pages are made of, for others in the same frame: "above"
// and "below", which take a Frame.
func Templates() *template.Template { return template.Must(pages.Clone()) }

// Frame is what every page has around it.
type Frame struct {
	Title string
	Here  string // the part that it belongs to, as the navigation has it
	// Root leads to the site's first page: "/" on a server, "../" or "" among files.
	Root string
	// Served: a server answers, which has runs as well. Else the engine does.
	Served bool
	Wide   bool   // it has a table that needs all the room there is
	Script string // of the page's own
	Style  string // likewise
	// Description is what a shared link shows below the title.
	Description string
	Page        any
}

// to is the address of a page in a folder of the site.
func (f Frame) to(folder, name string) string { return f.Root + folder + "/" + name + ".html" }

// Page is a page, or a file that a reader has asked for.
type Page struct {
	Status int // as HTTP has them
	Type   string
	Body   []byte
}

// What is wrong with a request, in HTTP's numbers; package net/http is too large for a
// program that is sent to a browser.
const (
	ok          = 200
	badRequest  = 400
	notFound    = 404
	wrongForm   = 422
	broken      = 500
	tookTooLong = 503
)

var titles = map[int]string{notFound: "Not found", badRequest: "Bad request", wrongForm: "This cannot be tried",
	broken: "Internal error"}

// frame is that of a page in a folder of the site.
func (s *Site) frame(title, here string, page any) Frame {
	f := Frame{Title: title, Here: here, Root: "../", Served: s.Served, Page: page}
	if s.Served {
		f.Root = "/"
	}
	return f
}

// show makes one of the site's own pages.
func show(status int, name string, f Frame) Page { return Show(pages, status, name, f) }

// Show makes a page, whole or not at all.
func Show(pages *template.Template, status int, name string, f Frame) Page {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, f); err != nil {
		return Page{broken, "text/plain", []byte(err.Error())}
	}
	return Page{status, "text/html", b.Bytes()}
}

// fail says what is wrong.
func (s *Site) fail(status int, what string) Page {
	return show(status, "wrong", s.frame(titles[status], "", what))
}
