package site

import (
	"bytes"
	"embed"
	"html/template"

	"example.org/lockproof/lab"
	"example.org/lockproof/reports/html"
)

//go:embed *.gohtml *.css *.js icon.svg
var files embed.FS

// The engine's templates call no methods: without text/template's lookup of methods by name the linker drops uncalled
// methods, half of the engine.
var pages = template.Must(html.Parts().Funcs(template.FuncMap{
	"meaning":  html.Meaning,
	"mostSeed": func() int { return lab.MostSeed },
	"text":     lab.Text,
	"next":     func(i int) int { return i + 1 },
	"seeds":    func() int { return lab.BoundarySeeds },
	"to":       Frame.to,
}).ParseFS(files, "*.gohtml"))

// Templates are the pages' templates, for other pages in the same frame: "above" and "below", which take a Frame.
func Templates() *template.Template { return template.Must(pages.Clone()) }

// Frame surrounds every page.
type Frame struct {
	Title string
	Here  string // the current part in the navigation
	// Root is the prefix of the site's first page: "/" on a server, "../" or "" among files.
	Root string
	// Served is set if a server answers, which also has runs. Otherwise the engine answers.
	Served bool
	Wide   bool   // a wide table needs the whole width
	Script string // of this page alone
	Style  string // of this page alone
	// Description is the text of a shared link below the title.
	Description string
	Page        any
}

// to is the address of a page in a folder of the site.
func (f Frame) to(folder, name string) string { return f.Root + folder + "/" + name + ".html" }

// Page is a page or a file.
type Page struct {
	Status int // as in HTTP
	Type   string
	Body   []byte
}

// Status codes of HTTP; package net/http is too large for a program that a browser loads.
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

func (s *Site) frame(title, here string, page any) Frame {
	f := Frame{Title: title, Here: here, Root: "../", Served: s.Served, Page: page}
	if s.Served {
		f.Root = "/"
	}
	return f
}

// show executes one of the site's own templates.
func show(status int, name string, f Frame) Page { return Show(pages, status, name, f) }

// Show executes a template; after an error the page has only the error.
func Show(pages *template.Template, status int, name string, f Frame) Page {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, f); err != nil {
		return Page{broken, "text/plain", []byte(err.Error())}
	}
	return Page{status, "text/html", b.Bytes()}
}

// fail makes a page of an error.
func (s *Site) fail(status int, what string) Page {
	return show(status, "wrong", s.frame(titles[status], "", what))
}
