package site

import (
	"context"
	"embed"
	"net/url"
	"path"
	"runtime"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/html"
)

// Site answers requests for its pages.
type Site struct {
	// Served: a server sends the pages, with what else it has.
	Served bool
	// Guide makes a page of the guide, false: there is none of that name; nil: the site has no guide.
	Guide func(ctx context.Context, of *Site, name string) (page Page, found bool)
	run   suite.Runner
	limit time.Duration // of one request, 0 for none
}

// New makes a site whose trials run runs, no more at once than there are processors. A server's
// requests are bounded. The engine, which runs a tenth as fast and for one reader alone, goes on
// until that reader leaves.
func New(run suite.Runner, served bool) *Site {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	s := &Site{Served: served}
	s.run = func(ctx context.Context, jobs []suite.Job, o suite.Options, saw func(suite.Result)) ([]suite.Result, error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			return run(ctx, jobs, o, saw)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if served {
		s.limit = time.Minute
	}
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
	if s.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limit)
		defer cancel()
	}
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
	case folder == "guide" && s.Guide != nil:
		if page, found := s.Guide(ctx, s, name); found {
			return page
		}
	}
	return s.fail(notFound, "There is no such page.")
}

// Assets are the files that pages load, by their names.
func Assets() map[string][]byte {
	all := Embedded(files)
	all["page.css"], all["page.js"] = html.Style(), html.Script()
	return all
}

// Embedded are the files of a folder that pages load: all but the templates.
func Embedded(files embed.FS) map[string][]byte {
	all := map[string][]byte{}
	entries, _ := files.ReadDir(".") // what is embedded can be read
	for _, e := range entries {
		if path.Ext(e.Name()) != ".gohtml" && !e.IsDir() {
			all[e.Name()], _ = files.ReadFile(e.Name())
		}
	}
	return all
}
