package site

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/reports/html"
)

// Site answers requests for its pages.
type Site struct {
	// Served: a server sends the pages, with what else it has.
	Served bool
	bench  *lab.Bench
	run    suite.Runner
	limit  time.Duration // of one request, 0 for none
}

// New makes a site whose trials run runs. A server's requests are bounded. The engine, which
// runs a tenth as fast and for one reader alone, goes on until that reader leaves.
func New(run suite.Runner, served bool) *Site {
	s := &Site{Served: served, run: run}
	if served {
		s.limit = lab.Limit
	}
	s.bench = lab.NewBench(run, s.limit)
	return s
}

// Request asks for a page.
type Request struct {
	Path string // from the site's root: lab/flushall.html
	Form url.Values
	// Posted: it asks for what the form describes to be done.
	Posted bool
}

// Answer makes the page that a request asks for.
func (s *Site) Answer(ctx context.Context, r Request) Page {
	folder, name, _ := strings.Cut(r.Path, "/")
	name, action, _ := strings.Cut(name, "/")
	name = strings.TrimSuffix(name, ".html")
	switch {
	case folder == "lab" && name == Index:
		return s.list("lab-list", "The lab", folder,
			"Every way in which a distributed lock fails: predict it, watch it, change it until the verdict changes.")
	case folder == "lab":
		return s.lab(ctx, name, action, r)
	case folder == "exercises" && name == Index:
		return s.exerciseList()
	case folder == "exercises":
		return s.exercise(ctx, name, r)
	case folder == "stories" && name == Index:
		return s.list("story-list", "The catalogue's stories", folder,
			"Every failure of a distributed lock, told from its own history: what happens, what breaks, and why.")
	case folder == "stories":
		return s.story(ctx, name)
	}
	return s.fail(notFound, "There is no such page.")
}

// Asset is a file that the pages load; false: there is none of that name.
func Asset(name string) (data []byte, kind string, found bool) {
	kinds := map[string]string{".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
	kind = kinds[name[max(0, strings.LastIndexByte(name, '.')):]]
	switch {
	case name == "page.css":
		return html.Style(), kind, true
	case name == "page.js":
		return html.Script(), kind, true
	case !slices.Contains(Assets, name):
		return nil, "", false
	}
	data, err := files.ReadFile(name)
	return data, kind, err == nil
}

// Assets are the names of the files that pages load.
var Assets = []string{"page.css", "site.css", "page.js", "lab.js", "exercise.js", "engine.js", "icon.svg"}
