package serve

import (
	"cmp"
	"io/fs"
	"net/http"
	"path"
	"slices"

	"example.org/lockproof/reports"
)

// filePolicy is for pages written by a run: they may run their own script, load nothing from elsewhere and have an
// opaque origin.
const filePolicy = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; " +
	"script-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'"

// readable are the served files of a run.
var readable = []string{reports.PageFile, reports.TimelineFile, reports.ResultsFile, reports.JUnitFile,
	reports.SummaryFile, reports.ProgressFile, "history.jsonl"}

// types are the media types of files by extension; others are text.
var types = map[string]string{".html": "text/html", ".svg": "image/svg+xml", ".json": "application/json",
	".xml": "application/xml", ".css": "text/css", ".js": "text/javascript"}

// file serves one file of a run. os.Root confines names and links to the folder.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("path")
	if !slices.Contains(readable, path.Base(name)) || !fs.ValidPath(name) || !s.regular(name) {
		s.fail(w, http.StatusNotFound, "There is no such file of a run.")
		return
	}
	w.Header().Set("Content-Type", cmp.Or(types[path.Ext(name)], "text/plain")+"; charset=utf-8")
	w.Header().Set("Content-Security-Policy", filePolicy)
	w.Header().Set("Cache-Control", "no-cache")
	if path.Base(name) == reports.TimelineFile { // the run's page has an opaque origin
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	http.ServeFileFS(w, r, s.root.FS(), name)
}
