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

// Site makes pages on request.
type Site struct {
	// Served is set if a server sends the pages, which also has runs.
	Served bool
	// Guide makes a page of the guide; nil: the site has no guide.
	Guide func(ctx context.Context, site *Site, name string) (page Page, found bool)
	run   suite.Runner
	limit time.Duration // limit of one request; 0: none
}

// New makes a site that runs trials with run, at most one per processor. A server's requests have a time limit. The
// engine serves one reader at a tenth of the speed and has none.
func New(run suite.Runner, served bool) *Site {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	s := &Site{Served: served}
	s.run = func(ctx context.Context, jobs []suite.Job, o suite.Options, seen func(suite.Result)) ([]suite.Result, error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			return run(ctx, jobs, o, seen)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if served {
		s.limit = time.Minute
	}
	return s
}

// Request is a request for a page, or for an action if Posted is set.
type Request struct {
	Path string // relative to the site's root: lab/flushall.html
	Form url.Values
	// Posted requests an action with the form.
	Posted bool
}

// Answer makes the requested page.
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

// Assets returns the files that pages load, by name.
func Assets() map[string][]byte {
	all := Embedded(files)
	all["page.css"], all["page.js"] = html.Style(), html.Script()
	return all
}

// Embedded returns a folder's files except templates, by name.
func Embedded(files embed.FS) map[string][]byte {
	all := map[string][]byte{}
	entries, _ := files.ReadDir(".") // reading an embedded folder cannot fail
	for _, e := range entries {
		if path.Ext(e.Name()) != ".gohtml" && !e.IsDir() {
			all[e.Name()], _ = files.ReadFile(e.Name())
		}
	}
	return all
}
