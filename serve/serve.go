package serve

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"sync"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/site"
	"example.org/lockproof/site/chapters"
)

//go:embed *.gohtml *.css *.js
var files embed.FS

var pages = template.Must(site.Templates().Funcs(template.FuncMap{
	"time": func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
}).ParseFS(files, "*.gohtml"))

// Server shows the runs below one folder.
type Server struct {
	dir  string
	root *os.Root
	site *site.Site
	ctx  context.Context
	mux  *http.ServeMux

	assets map[string][]byte // by name

	mu    sync.Mutex
	known map[string]reading // runs already read, by folder
}

// New makes a server of the runs below dir, and of the lab, which runs trials with run. Requests end with ctx.
func New(ctx context.Context, dir string, run suite.Runner) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot show the folder %s: %w", dir, errors.Unwrap(err))
	}
	s := &Server{dir: dir, root: root, site: site.New(run, true), ctx: ctx, mux: http.NewServeMux(),
		assets: site.Assets(), known: map[string]reading{}}
	maps.Copy(s.assets, site.Embedded(files))
	s.mux.HandleFunc("GET /{$}", s.list)
	s.mux.HandleFunc("GET /files/{path...}", s.file)
	s.site.Guide = chapters.Page
	for _, folder := range []string{"lab", "exercises", "stories", "guide"} {
		s.mux.Handle("GET /"+folder, http.RedirectHandler("/"+folder+"/index.html", http.StatusMovedPermanently))
		s.mux.HandleFunc("GET /"+folder+"/{path...}", s.answer)
		s.mux.HandleFunc("POST /"+folder+"/{path...}", s.answer)
	}
	s.mux.HandleFunc("GET /assets/{name}", s.asset)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		// A run's page with an opaque origin requests it.
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		s.asset(w, r)
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, http.StatusNotFound, "There is no such page.")
	})
	return s, nil
}

// Close closes the folder. No request may be active.
func (s *Server) Close() error { return s.root.Close() }

// Limits for the arrival of a request and for the shutdown.
const (
	readTimeout  = 10 * time.Second
	closeTimeout = 5 * time.Second
)

// Serve serves a listener until ctx ends.
func (s *Server) Serve(l net.Listener) error {
	server := &http.Server{Handler: guard(l.Addr(), s.mux), ReadTimeout: readTimeout,
		BaseContext: func(net.Listener) context.Context { return s.ctx }}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-s.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

func (s *Server) show(w http.ResponseWriter, status int, name string, f site.Frame) {
	f.Root, f.Served = "/", true
	send(w, site.Show(pages, status, name, f))
}

// fail responds with an error page.
func (s *Server) fail(w http.ResponseWriter, status int, what string) {
	s.show(w, status, "wrong", site.Frame{Title: http.StatusText(status), Page: what})
}

func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(r.PathValue("name"), "icon.svg")
	data, known := s.assets[name]
	if !known {
		s.fail(w, http.StatusNotFound, "There is no such file.")
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(name)]+"; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Write(data)
}
